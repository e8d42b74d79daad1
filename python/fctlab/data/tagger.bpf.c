// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host tagger: writes the code point (RFC 2474) and skb->priority of each TCP packet by what its socket has sent
 * (PIAS, Bai et al., NSDI 2015, section 4.1), or has outstanding (ADS, Mushtaq et al., section 3).
 *
 * It is at the egress of the device of the sender's own network namespace: in another one the socket is no longer
 * known. A super-packet (GSO) has one tag for all of its segments. Filters after it see what it has written.
 *
 * Built by clang for BPF. THRESHOLDS, CODES, PRIORITIES and BANDS may be given; the map `settings` changes them later.
 * OUTSTANDING adds the second of the two, for kernels that have BTF; LEFT the same from SO_MARK, for the others.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MOST_BANDS 16
#define IPPROTO_TCP 6
#define AF_INET 2
#define AF_INET6 10

/* Of a context: the verifier wants each offset to be a constant, so loads must not be merged. */
#define READ(field) (*(volatile __u32 *)&(field))

#ifndef BANDS
#define BANDS 1
#define THRESHOLDS
#define CODES
#define PRIORITIES
#endif

struct settings {
	__u64 up_to[MOST_BANDS];	/* largest bytes of each band but the last */
	__u8 code[MOST_BANDS];		/* DSCP */
	__u32 priority[MOST_BANDS];
	__u32 bands;			/* 0: those that were compiled in */
	__u32 idle_us;			/* without a packet, a connection begins anew; 0: never */
};

const volatile struct settings compiled = {
	.up_to = { THRESHOLDS }, .code = { CODES }, .priority = { PRIORITIES }, .bands = BANDS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

/* Of a socket: where its flow began. */
struct begun {
	__u64 bytes;
	__u64 last_ns;
	__u64 start_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct begun);
} begun SEC(".maps");

/* A flow that has ended; addresses in network order, IPv4 in the last four bytes. */
struct flow {
	__u64 start_ns;
	__u64 end_ns;
	__u64 bytes;
	__u32 retransmissions;
	__u32 family;
	__u32 src[4];
	__u32 dst[4];
	__u32 src_port;
	__u32 dst_port;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} flows SEC(".maps");

static __always_inline __u64 of_this_flow(struct bpf_sock *sk, __u64 total, __u32 in_flight, __u32 idle_us)
{
	struct begun fresh = {};
	struct begun *flow;
	__u64 now;

	if (!idle_us)
		return total;
	flow = bpf_sk_storage_get(&begun, sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return total;
	now = bpf_ktime_get_ns();
	if (!in_flight && now - flow->last_ns > idle_us * 1000ULL)
		flow->bytes = total;
	flow->last_ns = now;
	return total - flow->bytes;
}

static __always_inline void write_code(struct __sk_buff *skb, __u8 code)
{
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		__u16 old, new;

		/* Version, header length and TOS are the first word of the checksum; ECN is the end of TOS. */
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &old, sizeof(old)))
			return;
		new = (old & bpf_htons(0xff03)) | bpf_htons(code << 2);
		if (old == new)
			return;
		bpf_l3_csum_replace(skb, ETH_HLEN + 10, old, new, sizeof(new));
		bpf_skb_store_bytes(skb, ETH_HLEN, &new, sizeof(new), 0);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		__u16 old, new;

		if (bpf_skb_load_bytes(skb, ETH_HLEN, &old, sizeof(old)))
			return;
		new = (old & bpf_htons(0xf03f)) | bpf_htons(code << 6);
		if (old != new)
			bpf_skb_store_bytes(skb, ETH_HLEN, &new, sizeof(new), 0);
	}
}

static __always_inline int tagged(struct __sk_buff *skb, const volatile struct settings *now, __u64 value)
{
	__u32 band = 0;

	for (int i = 0; i < MOST_BANDS - 1; i++)
		if (i + 1 < now->bands && value > now->up_to[i])
			band = i + 1;
	band &= MOST_BANDS - 1;
	write_code(skb, now->code[band]);
	skb->priority = now->priority[band];
	return TC_ACT_UNSPEC;
}

static __always_inline const volatile struct settings *asked(void)
{
	__u32 zero = 0;
	struct settings *given = bpf_map_lookup_elem(&settings, &zero);

	return given && given->bands ? given : &compiled;
}

SEC("classifier")
int tag_sent(struct __sk_buff *skb)
{
	const volatile struct settings *now = asked();
	struct bpf_sock *sk = skb->sk;
	struct bpf_tcp_sock *tcp;
	__u32 in_flight;
	__u64 total;

	if (!sk)
		return TC_ACT_UNSPEC;	/* Somebody else's: it is forwarded. */
	sk = bpf_sk_fullsock(sk);
	tcp = sk ? bpf_tcp_sock(sk) : 0;
	if (!tcp)
		/* The answer to a connection that opens has no full socket yet; other protocols are not ours. */
		return sk ? TC_ACT_UNSPEC : tagged(skb, now, 0);
	in_flight = tcp->snd_nxt - tcp->snd_una;
	total = tcp->bytes_acked + in_flight;
	return tagged(skb, now, of_this_flow(sk, total, in_flight, now->idle_us));
}

#ifdef OUTSTANDING
/* Read through the kernel's types (BTF), which a kernel without them refuses to load. */
struct tcp_sock {
	__u32 snd_una;
	__u32 write_seq;
} __attribute__((preserve_access_index));

SEC("classifier")
int tag_outstanding(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct tcp_sock *tcp;

	if (!sk)
		return TC_ACT_UNSPEC;
	sk = bpf_sk_fullsock(sk);
	tcp = sk ? bpf_skc_to_tcp_sock(sk) : 0;
	if (!tcp)
		return sk ? TC_ACT_UNSPEC : tagged(skb, asked(), 0);
	return tagged(skb, asked(), tcp->write_seq - tcp->snd_una);
}
#endif

#ifdef LEFT
/*
 * Outstanding bytes where the kernel's types cannot be read: SO_MARK says how many bytes the application writes, all
 * of them before the first is acknowledged. Who has none, such as a receiver, is in the first band; so is what opens a
 * connection.
 */
SEC("left")
int tag_left(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct bpf_tcp_sock *tcp;
	__u64 end = skb->mark;

	if (!sk)
		return TC_ACT_UNSPEC;
	sk = bpf_sk_fullsock(sk);
	tcp = sk ? bpf_tcp_sock(sk) : 0;
	if (!tcp)
		return sk ? TC_ACT_UNSPEC : tagged(skb, asked(), 0);
	if (sk->state == BPF_TCP_SYN_SENT)
		end = 0;
	else if (end)
		end += 1;	/* SYN counts as a byte. */
	return tagged(skb, asked(), end > tcp->bytes_acked ? end - tcp->bytes_acked : 0);
}
#endif

SEC("sockops")
int flow_record(struct bpf_sock_ops *ops)
{
	struct begun fresh = {};
	struct begun *flow;
	struct flow *told;
	__u32 src4, dst4, src6, dst6;

	if (ops->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		bpf_sock_ops_cb_flags_set(ops, BPF_SOCK_OPS_STATE_CB_FLAG);
		if (!ops->sk)
			return 1;
		flow = bpf_sk_storage_get(&begun, ops->sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
		if (flow)
			flow->start_ns = bpf_ktime_get_ns();
		return 1;
	}
	if (ops->op != BPF_SOCK_OPS_STATE_CB || ops->args[1] != BPF_TCP_CLOSE || !ops->sk)
		return 1;
	flow = bpf_sk_storage_get(&begun, ops->sk, 0, 0);
	/* Who has sent nothing but the opening and the end of the connection has had no flow. */
	if (!flow || !flow->start_ns || ops->bytes_acked <= 2)
		return 1;
	src4 = READ(ops->local_ip4);
	dst4 = READ(ops->remote_ip4);
	src6 = READ(ops->local_ip6[3]);
	dst6 = READ(ops->remote_ip6[3]);
	told = bpf_ringbuf_reserve(&flows, sizeof(*told), 0);
	if (!told)
		return 1;
	told->start_ns = flow->start_ns;
	told->end_ns = bpf_ktime_get_ns();
	told->bytes = ops->bytes_acked;
	told->retransmissions = ops->total_retrans;
	told->family = ops->family;
	for (int i = 0; i < 3; i++)
		told->src[i] = told->dst[i] = 0;
	if (ops->family == AF_INET6) {
		told->src[0] = ops->local_ip6[0];
		told->src[1] = ops->local_ip6[1];
		told->src[2] = ops->local_ip6[2];
		told->dst[0] = ops->remote_ip6[0];
		told->dst[1] = ops->remote_ip6[1];
		told->dst[2] = ops->remote_ip6[2];
	}
	told->src[3] = ops->family == AF_INET6 ? src6 : src4;
	told->dst[3] = ops->family == AF_INET6 ? dst6 : dst4;
	told->src_port = ops->local_port;
	told->dst_port = bpf_ntohl(ops->remote_port);
	bpf_ringbuf_submit(told, 0);
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
