import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import { Chain } from '#dev/localnet/cluster/chain.ts';
import { deliver, Faults } from '#dev/localnet/control/faults.ts';
import { handleCall, readCall } from '#dev/localnet/rpc/dispatch.ts';
import { Node } from '#dev/localnet/rpc/node.ts';
import { signed, transfer } from '#test/support/solana/chain.ts';

const SLOT_MS = 10;
const systemNow = Date.now;
/** Time that the clock shows, ms, and the number of reads after which the clock shows `later` more. */
const time = { now: 1_800_000_000_000, readsLeft: Number.POSITIVE_INFINITY, later: 0 };
let chain: Chain;
let node: Node;
const faults = new Faults();
const payer = Keypair.generate();

beforeAll(() => {
  Date.now = () => (time.readsLeft-- > 0 ? time.now : time.now + time.later);
  chain = new Chain({ slotMs: SLOT_MS, confirmedAfter: 1, finalizedAfter: 8, seed: Buffer.alloc(32, 7) });
  node = new Node('first', chain);
  node.submit = (tx) => deliver(node, [node], faults, tx);
  call('requestAirdrop', payer.publicKey.toBase58(), 100_000_000_000);
});
afterAll(() => {
  Date.now = systemNow;
  chain.close();
});

/** Calls a method of the RPC API. */
function call<T>(method: string, ...params: unknown[]): T {
  return (handleCall(node, readCall({ jsonrpc: '2.0', id: 1, method, params })) as { result: T }).result;
}

type Statuses = { value: ({ confirmationStatus: string } | null)[] };
const statusOf = (signature: string) => call<Statuses>('getSignatureStatuses', [signature]).value[0]?.confirmationStatus ?? null;

/** Sends a transfer that a fork drops four slots later. */
function sendForked(): string {
  const { blockhash } = call<{ value: { blockhash: string } }>('getLatestBlockhash', { commitment: 'confirmed' }).value;
  const transaction = signed([transfer(payer, Keypair.generate().publicKey, 1_000_000)], [payer], blockhash);
  faults.add({ kind: 'fork', slots: 4, times: 1 });
  return call('sendTransaction', transaction.serialize().toString('base64'), { encoding: 'base64', skipPreflight: true });
}

test('a node never states that a transaction is finalized which a fork drops, however long one answer takes', () => {
  for (let reads = 0; reads < 12; reads++) {
    time.now += 20 * SLOT_MS;
    const signature = sendForked();
    // While the node makes the answer, 20 slots pass between two reads of the clock.
    Object.assign(time, { readsLeft: reads, later: 20 * SLOT_MS });
    const answer = statusOf(signature);
    Object.assign(time, { now: time.now + time.later, readsLeft: Number.POSITIVE_INFINITY, later: 0 });
    expect([reads, answer]).toEqual([reads, reads === 0 ? null : 'processed']);
    expect(statusOf(signature)).toBeNull();
  }
});
