-- slo-two-classes.toml in Dhall, and what Dhall is for: a function where two SLIs are alike.
let edge = T.KB 125

let small = \(name : Text) -> \(metric : Metric.Type) -> Sli::{ name, metric, below = Some edge }

let large = \(name : Text) -> \(metric : Metric.Type) -> Sli::{ name, metric, from = edge }

let p99 = Metric.Percentile 0.99

let web =
      Class::{
      , name = "web"
      , flowsizes = Some (Workload.Table "websearch_bytes")
      , interarrivals = Some (Workload.Lognormal { mu = 11.3, sigma = 2.0 })
      , slo = Some "small_p99 < 9.0 and large_p99 < 12.0"
      , slis = [ small "small_p99" p99, large "large_p99" p99 ]
      }

let storage =
      Class::{
      , name = "storage"
      , flowsizes = Some (Workload.Table "alibaba_storage")
      , interarrivals = Some (Workload.LognormalShape 1.5)
      , rate = Some (T.Gbps 15)
      , slo = Some "small_p99 < 5.0 and (large_p99 < 5.0 or large_mean < 2.5)"
      , slis = [ small "small_p99" p99, large "large_p99" p99, large "large_mean" Metric.Mean ]
      }

in  Spec::{
    , name = "web search beside RPCs"
    , network = Network::{ link = T.Gbps 100, rtt = T.Us 10 }
    , queue = Queue.WFQ Inside.FIFO
    , cc = CC.swp-d
    , classes = [ web, storage ]
    }
