import { type App, perApp } from '#platform/app.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { askSecond, DENIAL_SLOTS, pauseContradicted } from '#platform/solana/submission/index.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import type { ReadNonce } from './result.ts';
import type { Lane } from './rows.ts';

/** Type of the transactions that stop when the RPC nodes contradict each other about a nonce. */
const TYPE = 'payout-batch';

/** The nonces that the second RPC node shows, by the address of their lane. `none`: no second node is configured. `silent`: it does not answer. */
export type OtherNonces = ReadonlyMap<string, ReadNonce> | 'none' | 'silent';

/** The nonce that only the first RPC node shows, by the address of its lane, and the slot at which it was first seen. */
const differences = perApp(() => new Map<string, { readonly value: string; readonly since: number }>());

/** Reads the finalized nonces of lanes from the second RPC node. */
export async function readOtherNonces(app: App, lanes: readonly Lane[]): Promise<OtherNonces> {
  if (app.chain.second === null || lanes.length === 0) return 'none';
  const addresses = lanes.map(({ address }) => parseAddress(address));
  const read = await askSecond(app, (second) => second.accounts(addresses, 'finalized'));
  if (read === null) return 'silent';
  return new Map(lanes.map(({ address }, i) => [address, { value: decodeNonce(read.accounts[i] ?? null)?.value ?? null, slot: read.slot }]));
}

/**
 * Returns the reason why a changed nonce of a lane is not settled: the second RPC node does not show it. Returns null when both nodes show it, or when no
 * second node is configured. Pauses payout batches when the second node still shows the stored nonce more than 32 slots after the first node showed the
 * new one.
 */
export async function secondNodeDoubt(
  app: App,
  lane: Lane,
  { value, slot }: ReadNonce & { value: string },
  others: OtherNonces,
): Promise<string | null> {
  if (others === 'none') return null;
  if (others === 'silent') return 'the second RPC node does not answer, so the nonce of the lane is not settled';
  const other = others.get(lane.address);
  const seen = app.state(differences);
  if (!other || other.value === value) {
    seen.delete(lane.address);
    return null;
  }
  const before = seen.get(lane.address);
  const since = before?.value === value ? before.since : slot;
  seen.set(lane.address, { value, since });
  if (other.value === lane.nonce && other.slot > since + DENIAL_SLOTS) {
    const reason = `the first RPC node shows the nonce ${value} of lane ${lane.lane} since slot ${since}, and the second one shows ${other.value} at slot ${other.slot}`;
    await pauseContradicted(app, TYPE, reason);
  }
  return 'the second RPC node does not show the nonce that the first one shows';
}
