"""SLOs without priorities: predict, plan, provision, and classes from logs."""
