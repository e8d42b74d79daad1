#!/bin/bash
# A sweep as a Slurm array: every task computes a part of the cells into one store on a shared disk.
#
#   sbatch --array=1-16 docs/clusters/slurm.sh marking.toml /shared/marking
#
# Afterwards the same sweep without a part, which only reads the store and writes the tables:
#
#   fctlab sweep marking.toml --store /shared/marking/store --out /shared/marking
#
#SBATCH --job-name=fctlab
#SBATCH --cpus-per-task=8
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail

sweep=$1
results=$2
part=$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT

fctlab sweep "$sweep" --shard "$part" --store "$results/store" --out "$results/parts/$SLURM_ARRAY_TASK_ID"
