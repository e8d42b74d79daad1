-- What a Dhall specification has in scope; docs/howto/dhall.md shows it in use.
--
-- A specification in Dhall is the one in TOML, typed. Records and lists are tables and lists;
-- a union is what its alternative holds, or the alternative's name; None leaves a key out.

-- Quantities: one alternative each, so that a type error says which is which.
let Rate = < Rate : Text >

let Duration = < Duration : Text >

let Size = < Size : Text >

let rate = \(unit : Text) -> \(n : Natural) -> Rate.Rate (Natural/show n ++ unit)

let time = \(unit : Text) -> \(n : Natural) -> Duration.Duration (Natural/show n ++ unit)

let size = \(unit : Text) -> \(n : Natural) -> Size.Size (Natural/show n ++ unit)

-- Numbers with a unit: T.Gbps 100, T.Us 10, T.KB 100. T.Line is the link's rate (for r_init).
let T =
      { Bps = rate "bps"
      , Kbps = rate "Kbps"
      , Mbps = rate "Mbps"
      , Gbps = rate "Gbps"
      , Tbps = rate "Tbps"
      , Line = Rate.Rate "line"
      , Ps = time "ps"
      , Ns = time "ns"
      , Us = time "us"
      , Ms = time "ms"
      , S = time "s"
      , B = size "B"
      , KB = size "KB"
      , MB = size "MB"
      , GB = size "GB"
      , Rate
      , Duration
      , Size
      }

-- Who is served first among the flows of one class.
let InsideType = < fifo | fq >

let Inside = { FIFO = InsideType.fifo, FQ = InsideType.fq, Type = InsideType }

-- What leaves the bottleneck next: Queue.FIFO, Queue.WFQ Inside.FQ.
let QueueType = < Queue : { kind : Text, inside : Optional InsideType } >

let one = \(kind : Text) -> QueueType.Queue { kind, inside = None InsideType }

let classes = \(kind : Text) -> \(inside : InsideType) -> QueueType.Queue { kind, inside = Some inside }

let Queue =
      { FIFO = one "fifo"
      , FQ = one "fq"
      , Priority = classes "priority"
      , WRR = classes "wrr"
      , DRR = classes "drr"
      , WFQ = classes "wfq"
      , Type = QueueType
      }

-- Congestion control: table 1's parameters, or a preset (table 2, or the packet engine's);
-- Extended has what the paper's model does not.
let Parameters = { r_init : Rate, u_target : Double, thresh : Size, beta : Double, eta : Double }

let CC =
      < Normal : Parameters
      | Extended :
            Parameters
        //\\ { start : Text
            , law : Text
            , additive_increase : Double
            , gain : Double
            , rise : Optional Size
            , min_rate : Double
            , window_counts : Text
            , scope : Text
            , payload : Size
            , header : Size
            , scheme : Text
            }
      | swp-d
      | swp-h
      | dctcp-rate
      | hpcc
      >

-- Flow sizes.
let Sizes =
      < Cdf : { kind : Text, file : Text, interpolation : Text }
      | Table : { kind : Text, interpolation : Text }
      | Fixed : { kind : Text, size : Size }
      | Uniform : { kind : Text, sizes : List Size }
      | Bimodal : { kind : Text, small : Size, large : Size, small_share : Double }
      >

let cdf = \(interpolation : Text) -> \(file : Text) -> Sizes.Cdf { kind = "cdf", file, interpolation }

let table = \(interpolation : Text) -> \(kind : Text) -> Sizes.Table { kind, interpolation }

let fixed = \(size : Size) -> Sizes.Fixed { kind = "fixed", size }

let uniform = \(sizes : List Size) -> Sizes.Uniform { kind = "uniform", sizes }

let bimodal =
      \(b : { small : Size, large : Size, small_share : Double }) ->
        Sizes.Bimodal (b /\ { kind = "bimodal" })

-- The arrival process; mu is the mean of ln(gap in ns). Without it the class has a load or a rate.
let Arrivals =
      < Poisson : { kind : Text }
      | Lognormal : { kind : Text, mu : Optional Double, sigma : Double }
      >

let poisson = Arrivals.Poisson { kind = "poisson" }

let lognormal =
      \(l : { mu : Double, sigma : Double }) ->
        Arrivals.Lognormal { kind = "lognormal", mu = Some l.mu, sigma = l.sigma }

let shape = \(sigma : Double) -> Arrivals.Lognormal { kind = "lognormal", mu = None Double, sigma }

let Workload =
      { Cdf = cdf "linear"
      , CdfSteps = cdf "step"
      , Table = table "linear"
      , TableSteps = table "step"
      , Fixed = fixed
      , Uniform = uniform
      , Bimodal = bimodal
      , Poisson = poisson
      , Lognormal = lognormal
      , LognormalShape = shape
      , Sizes
      , Arrivals
      }

-- How flows become one number.
let MetricType = < Percentile : { percentile : Double } | mean >

let percentile = \(percentile : Double) -> MetricType.Percentile { percentile }

let Metric = { Percentile = percentile, Mean = MetricType.mean, Type = MetricType }

-- What is measured of each flow.
let AttrType = < slowdown | fct | throughput >

let Attr =
      { Slowdowns = AttrType.slowdown
      , Fct = AttrType.fct
      , Throughput = AttrType.throughput
      , Type = AttrType
      }

-- The paper's figure 4: exactly these keys.
let ShortSli = { name : Text, metric : MetricType, attr : AttrType }

let ShortClass =
      { name : Text, flowsizes : Sizes, interarrivals : Arrivals, slis : List ShortSli, slo : Text }

let ShortNetwork = { link : Rate, rtt : Duration }

let Config = { network : ShortNetwork, queue : QueueType, cc : CC, classes : List ShortClass }

-- Every key there is: Spec::{ .. }, Network::{ .. }, Class::{ .. }, Sli::{ .. } complete what is
-- given with the defaults. What may be absent is Optional.
let Ends = < ack | delivery >

let NetworkType = ShortNetwork //\\ { fct_ends : Ends, overload : Bool }

let Network =
      { Type = NetworkType
      , default = { fct_ends = Ends.ack, overload = False }
      , Ack = Ends.ack
      , Delivery = Ends.delivery
      }

let SliType = ShortSli //\\ { from : Size, below : Optional Size }

let Sli =
      { Type = SliType
      , default = { attr = Attr.Slowdowns, from = T.B 0, below = None Size }
      }

let ClassType =
      { name : Text
      , flowsizes : Optional Sizes
      , interarrivals : Optional Arrivals
      , load : Optional Double
      , rate : Optional Rate
      , trace : Optional Text
      , repeat : Optional Duration
      , measured : Optional Text
      , dscp : List Natural
      , weight : Double
      , slis : List SliType
      , slo : Optional Text
      }

let Class =
      { Type = ClassType
      , default =
        { flowsizes = None Sizes
        , interarrivals = None Arrivals
        , load = None Double
        , rate = None Rate
        , trace = None Text
        , repeat = None Duration
        , measured = None Text
        , dscp = [] : List Natural
        , weight = 1.0
        , slis = [] : List SliType
        , slo = None Text
        }
      }

let SpecType =
      { name : Text
      , seed : Natural
      , network : NetworkType
      , queue : QueueType
      , cc : CC
      , classes : List ClassType
      }

let Spec =
      { Type = SpecType
      , default = { name = "", seed = 1, queue = Queue.WFQ Inside.FIFO, cc = CC.swp-d }
      }

in  { T, Inside, Queue, CC, Workload, Metric, Attr, Config, Network, Sli, Class, Spec }
