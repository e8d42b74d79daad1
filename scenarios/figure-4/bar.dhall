-- The figure says only that it is similar: fewer flows, and an SLO on the mean beside.
{ name = "Bar"
, flowsizes = Workload.Cdf "websearch.txt"
, interarrivals =
    Workload.Lognormal
    { mu = 12.0, sigma = 1.5 }
, slis =
  [ { name = "tail_slowdown"
    , metric = Metric.Percentile 0.99
    , attr = Attr.Slowdowns
    }
  , { name = "mean_slowdown"
    , metric = Metric.Mean
    , attr = Attr.Slowdowns
    }
  ]
, slo = "tail_slowdown < 30.0 and mean_slowdown < 10.0"
}
