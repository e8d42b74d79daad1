// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The queue of a port in BPF, for kernels whose disciplines do not mark: what waits in all bands of a port is marked
 * above a threshold (RFC 3168) and dropped beyond a buffer that they share.
 *
 * Bytes come in where a packet leaves for the port's discipline (clsact egress), and go out where the other end of the
 * link has it (clsact ingress); what waits is the difference, for each band and exactly. At the end it is zero.
 *
 * Built by clang for BPF, with LINKS, MARKS and BUFFERS, an entry for each link, in bytes; CODES, the code points of
 * BANDS bands; and OVERHEAD, what a packet is longer on the wire. The class of the filter is the number of the link.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Powers of two, by which the verifier sees that an index is in bounds. */
#define MOST_LINKS 512
#define MOST_BANDS 16

const volatile __u64 mark_above[MOST_LINKS] = { MARKS };
const volatile __u64 room[MOST_LINKS] = { BUFFERS };
const volatile __u8 codes[BANDS] = { CODES };

struct queue {
	__u64 marked;
	__u64 dropped;
	__u64 in[MOST_BANDS];	/* bytes */
	__u64 out[MOST_BANDS];
};

/* One for both ends of each link, which load this apart. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LINKS);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, __u32);
	__type(value, struct queue);
} fctlab_queues SEC(".maps");

/* Of a packet: its link's queue, number and band; none of what is not IPv4. */
struct place {
	struct queue *queue;
	__u32 link;
	__u32 band;
	__u64 bytes;
};

static __always_inline int find(struct __sk_buff *skb, struct place *place)
{
	__u8 tos;

	place->link = (skb->tc_classid & 0xffff) - 1;
	if (place->link >= LINKS || skb->protocol != bpf_htons(ETH_P_IP))
		return 0;
	if (bpf_skb_load_bytes(skb, ETH_HLEN + 1, &tos, sizeof(tos)))
		return 0;
	place->queue = bpf_map_lookup_elem(&fctlab_queues, &place->link);
	place->bytes = skb->len + OVERHEAD;
	place->band = BANDS - 1;
	for (int band = 0; band < BANDS - 1; band++)
		if (codes[band] == tos >> 2)
			place->band = band;
	return place->queue != 0;
}

SEC("enter")
int queue_enter(struct __sk_buff *skb)
{
	struct place here;
	__u64 waits = 0;

	if (!find(skb, &here))
		return TC_ACT_UNSPEC;
	for (int band = 0; band < BANDS; band++)
		waits += here.queue->in[band] - here.queue->out[band];
	if (waits + here.bytes > room[here.link & (MOST_LINKS - 1)]) {
		__sync_fetch_and_add(&here.queue->dropped, 1);
		return TC_ACT_SHOT;
	}
	if (waits > mark_above[here.link & (MOST_LINKS - 1)] && bpf_skb_ecn_set_ce(skb))
		__sync_fetch_and_add(&here.queue->marked, 1);
	__sync_fetch_and_add(&here.queue->in[here.band & (MOST_BANDS - 1)], here.bytes);
	return TC_ACT_UNSPEC;
}

SEC("leave")
int queue_leave(struct __sk_buff *skb)
{
	struct place here;

	if (find(skb, &here))
		__sync_fetch_and_add(&here.queue->out[here.band & (MOST_BANDS - 1)], here.bytes);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
