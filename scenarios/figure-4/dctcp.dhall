-- DCTCP with the parameters that swp's figure 4 gives it (table 2 has beta = 0).
CC.Normal
{ r_init = T.Gbps 100
, u_target = 1.0
, thresh = T.KB 100
, beta = 1.0
, eta = 5.5
}
