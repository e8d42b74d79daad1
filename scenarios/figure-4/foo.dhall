{ name = "Foo"
, flowsizes = Workload.Cdf "websearch.txt"
, interarrivals =
    Workload.Lognormal
    { mu = 11.3, sigma = 2.0 }
, slis =
  [ { name = "tail_slowdown"
    , metric = Metric.Percentile 0.99
    , attr = Attr.Slowdowns
    }
  ]
, slo = "tail_slowdown < 3.0"
}
