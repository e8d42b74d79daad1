// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * DCTCP (RFC 8257) as a congestion control in BPF (struct_ops), for kernels that are built without it.
 *
 * A sender estimates the share alpha of its bytes that met a queue, and a window shrinks by half of alpha at most once
 * per round trip. A receiver echoes exactly which packets were marked. Windows grow as TCP's do, and losses halve them.
 * A smaller window is reached over a round trip (RFC 6937), as in Linux's own.
 *
 * All of a sender is in `control`: Linux 6.18 was seen not to call these functions for milliseconds on a busy machine.
 * Then what `ssthresh` returns is none of ours, so nothing hangs on it.
 *
 * The kernel needs types (BTF), a JIT, and Linux 6.10; `fctlab-host dctcp` loads this.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Read through the kernel's types: only what is used here is declared, and where it is does not matter. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 prior_cwnd;
	__u32 prr_out;
	__u32 high_seq;
	__u8 ecn_flags;
};

struct rate_sample {
	int acked_sacked;
};

#pragma clang attribute pop

enum tcp_ca_event {
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *sample);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 flags;
	char name[16];
};

/* tcp_ca_state: from CWR on a window is being reduced. */
#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_DEMAND_CWR 4	/* an ACK has ECE while this is set */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

#define ONE_SHIFT 20
#define ONE (1U << ONE_SHIFT)
#define GAIN_SHIFT 4		/* g = 1/16 (section 4.2) */
#define LEAST_WINDOW 2U

/* Of a connection. */
struct dctcp {
	__u32 alpha;		/* of ONE */
	__u32 window_end;	/* where the observation window ends */
	__u32 delivered;	/* packets when it began */
	__u32 delivered_ce;	/* marked ones */
	__u32 ssthresh;
	__u32 state;		/* tcp_ca_state at the last ACK */
	__u32 until;		/* the last reduction is over when this is acknowledged */
	__u32 before;		/* window before the last reduction */
	__u32 reduced;		/* packets delivered since then */
	__u32 ce_to;		/* a receiver: until where the mark below was that of all packets */
	__u32 ce;		/* DCTCP.CE */
};

_Static_assert(sizeof(struct dctcp) <= 13 * 8, "there is room for it in a socket");

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct dctcp *state_of(struct sock *sk)
{
	return (struct dctcp *)tcp_of(sk)->inet_conn.icsk_ca_priv;
}

static __always_inline __u32 at_least_two(__u32 window)
{
	return window > LEAST_WINDOW ? window : LEAST_WINDOW;
}

static __always_inline void observe(struct tcp_sock *tcp, struct dctcp *state)
{
	state->window_end = tcp->snd_nxt;
	state->delivered = tcp->delivered;
	state->delivered_ce = tcp->delivered_ce;
}

SEC("struct_ops/init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct tcp_sock *tcp = tcp_of(sk);
	struct dctcp *state = state_of(sk);

	state->alpha = ONE;
	state->ssthresh = tcp->snd_ssthresh;
	state->state = 0;
	state->until = tcp->snd_una;
	state->before = 0;
	state->ce_to = tcp->rcv_nxt;
	state->ce = 0;
	observe(tcp, state);
}

/* Section 3.3: once per window, alpha moves to the share of what was delivered that was marked. */
static __always_inline void estimate(struct tcp_sock *tcp, struct dctcp *state)
{
	__u32 all, marked, alpha;

	if ((__s32)(tcp->snd_una - state->window_end) < 0)
		return;
	all = tcp->delivered - state->delivered;
	marked = tcp->delivered_ce - state->delivered_ce;
	alpha = state->alpha - (state->alpha >> GAIN_SHIFT);
	if (marked)
		alpha += ((__u64)marked << (ONE_SHIFT - GAIN_SHIFT)) / (all ? all : 1);
	state->alpha = alpha < ONE ? alpha : ONE;
	observe(tcp, state);
}

/* Section 3.3: cwnd = cwnd * (1 - alpha / 2); section 3.5: a loss is answered as by TCP. */
static __always_inline __u32 smaller(const struct dctcp *state, __u32 window, __u32 why)
{
	__u32 cut = why == TCP_CA_CWR ? ((__u64)window * state->alpha) >> (ONE_SHIFT + 1) : window - window / 2;

	return at_least_two(window - cut);
}

/* RFC 6937, section 3: as many are sent of what is delivered as the window shrinks; what is left over it makes up. */
static __always_inline void reduce(struct tcp_sock *tcp, struct dctcp *state, __u32 acked)
{
	__u32 in_flight = tcp->packets_out - tcp->sacked_out - tcp->lost_out + tcp->retrans_out;
	__u32 out = tcp->prr_out;
	__s64 may;

	state->reduced += acked;
	if (in_flight > state->ssthresh) {
		__u64 share = (__u64)state->ssthresh * state->reduced + state->before - 1;

		may = (__s64)(share / (state->before ? state->before : 1)) - out;
	} else {
		__s64 room = state->ssthresh - in_flight;

		may = (__s64)state->reduced - out;
		may = (may > acked ? may : acked) + 1;
		may = may < room ? may : room;
	}
	if (may < !out)
		may = !out;	/* What is lost is sent again at once. */
	tcp->snd_cwnd = in_flight + may;
}

SEC("struct_ops/cong_control")
void BPF_PROG(dctcp_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *sample)
{
	struct tcp_sock *tcp = tcp_of(sk);
	struct dctcp *state = state_of(sk);
	__u32 now = tcp->inet_conn.icsk_ca_state;
	__u32 was = state->state;
	__u32 acked = sample->acked_sacked > 0 ? sample->acked_sacked : 0;
	__u32 again = tcp->high_seq != state->until;

	estimate(tcp, state);
	state->state = now;
	if ((was == TCP_CA_CWR || was == TCP_CA_RECOVERY) && (now < TCP_CA_CWR || again))
		tcp->snd_cwnd = state->ssthresh;
	if (now >= TCP_CA_CWR && (now > was || again)) {
		/* The kernel has the window before a timeout, which shrinks it to a packet. */
		state->before = now == TCP_CA_LOSS ? tcp->prior_cwnd : tcp->snd_cwnd;
		state->ssthresh = smaller(state, state->before, now);
		state->until = tcp->high_seq;
		state->reduced = 0;
	}
	tcp->snd_ssthresh = state->ssthresh;
	if (now == TCP_CA_CWR || now == TCP_CA_RECOVERY) {
		if (acked)
			reduce(tcp, state, acked);
		return;
	}
	if (acked)
		tcp_reno_cong_avoid(sk, ack, acked);
}

/* Of no use, but asked for: see above. */
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	return smaller(state_of(sk), tcp_of(sk)->snd_cwnd, TCP_CA_CWR);
}

static __always_inline void echo(struct tcp_sock *tcp, __u32 ce)
{
	__u8 flags = tcp->ecn_flags;

	tcp->ecn_flags = ce ? flags | TCP_ECN_DEMAND_CWR : flags & ~TCP_ECN_DEMAND_CWR;
}

/* Section 3.2: where the mark changes, an ACK that waits goes first, with the old one; the new one is not waited with. */
static __always_inline void marked(struct sock *sk, __u32 ce)
{
	struct tcp_sock *tcp = tcp_of(sk);
	struct dctcp *state = state_of(sk);
	__u8 pending = tcp->inet_conn.icsk_ack.pending;

	if (state->ce != ce) {
		if (pending & ICSK_ACK_TIMER) {
			echo(tcp, state->ce);
			bpf_tcp_send_ack(tcp, state->ce_to);
			pending = tcp->inet_conn.icsk_ack.pending;
		}
		tcp->inet_conn.icsk_ack.pending = pending | ICSK_ACK_NOW;
		state->ce = ce;
	}
	state->ce_to = tcp->rcv_nxt;
	echo(tcp, ce);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		marked(sk, 1);
	else if (event == CA_EVENT_ECN_NO_CE)
		marked(sk, 0);
}

/* What was taken for a loss was none. */
SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	__u32 window = tcp_of(sk)->snd_cwnd;
	__u32 before = state_of(sk)->before;

	return window > before ? window : before;
}

/* It goes with the link that holds it; the loader writes a name that no other has. */
SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_control = (void *)dctcp_control,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "fctlab",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
