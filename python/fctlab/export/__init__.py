"""From advice to the switch: what was found, as configuration of switches and sending hosts.

Everything is a pure function of files; nothing connects to a device.

* `results` reads what was found: a plan, thresholds, a mapping.
* `site` reads what cannot be found: ports, code points, queues that are taken (SITE.toml).
* `steps` has code points for mappings that differ between switches.
* `form` puts both into one typed form: queues, maps, schedulers, markers.
* `targets` has a module for each kind of device, which writes the form in its words and reads it.
* `exporting` makes an export of them, with the way back; `effect` predicts what is lost.
"""
