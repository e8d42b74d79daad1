-- Top-level configuration
{ network =
  { link = T.Gbps 100
  , rtt = T.Us 10
  }
, queue = Queue.FIFO
, cc = ./dctcp.dhall
, classes = [ ./foo.dhall, ./bar.dhall ]
} : Config
