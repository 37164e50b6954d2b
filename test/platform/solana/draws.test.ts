import { createPrivateKey, createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { programDataAddress } from '#platform/solana/deployed-program.ts';
import { commitmentAddress, commitRound, decodeCommitment, decodeDraws, drawsProgramState } from '#platform/solana/draws/index.ts';
import { addressOfBytes, newSigner, parseAddress } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';

let chain: TestChain;
let node: RpcNode;
beforeAll(async () => {
  chain = await startTestChain();
  node = new RpcNode(chain.localnet.url);
});
afterAll(() => chain?.close());

const program = () => chain.keys.drawsProgram.publicKey;
const drawsAccount = () => parseAddress(chain.env.DRAWS_ADDRESS ?? '');

/** Reads the facts of the draws account of the localnet. */
async function facts() {
  const decoded = decodeDraws(program(), (await node.account(drawsAccount(), 'finalized')).account);
  if (!decoded) throw new Error('the localnet has no draws account');
  return decoded;
}

/** Writes the account that holds the bytes of the draws program, runs `then`, and restores the account. */
async function withProgramData<T>(change: (data: Buffer) => Buffer | undefined, then: () => Promise<T>): Promise<T> {
  const address = programDataAddress(program());
  const { account } = await node.account(address, 'finalized');
  if (!account) throw new Error('the draws program has no data');
  const write = async (data: Buffer) => {
    const { lamports, owner } = account;
    const written = { lamports, owner: owner.toBase58(), data: data.toString('base64'), executable: false };
    await chain.control.setAccounts([{ address: address.toBase58(), account: written }]);
    await chain.control.advance(10);
  };
  const changed = Buffer.from(account.data);
  await write(change(changed) ?? changed);
  try {
    return await then();
  } finally {
    await write(account.data);
  }
}

test('a localnet has a draws account under development rules, of its own beacon and with the key of RECEIPT_KEY', async () => {
  const response = await fetch(`${chain.env.DRAND_URLS}/${chain.env.DRAND_CHAIN_HASH}/info`);
  const info = z.object({ genesis_time: z.int() }).parse(await response.json());
  expect(await facts()).toMatchObject({
    isDevelopment: true,
    period: 1,
    genesis: info.genesis_time,
    margin: 1,
    window: 600,
    founder: chain.keys.founder.publicKey.toBase58(),
    committer: chain.keys.committer.publicKey.toBase58(),
    chainHash: chain.env.DRAND_CHAIN_HASH,
  });
  const seed = Buffer.from(chain.env.RECEIPT_KEY ?? '', 'base64');
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const publicKey = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({ format: 'der', type: 'spki' });
  expect((await facts()).receiptKey).toBe(addressOfBytes(publicKey.subarray(-32)).toBase58());
});

test('commitments land on a localnet, with the slot and the time of their block', async () => {
  const { committer } = chain.keys;
  const draws = drawsAccount();
  const { period, genesis } = await facts();
  const beaconRound = Math.ceil((Date.now() / 1_000 + 5 - genesis) / period) + 1;
  const rounds = Array.from({ length: 3 }, () => ({ roundId: randomUUID(), leaf: randomBytes(32).toString('hex'), beaconRound }));
  const common = { program: program(), payer: committer.publicKey, committer: committer.publicKey, draws };
  await chain.send(
    rounds.map((round) => commitRound({ ...common, ...round })),
    [committer],
  );
  await chain.control.advance(10);
  for (const { roundId, leaf } of rounds) {
    const { account } = await node.account(commitmentAddress(program(), draws, roundId), 'finalized');
    const commitment = decodeCommitment(program(), account);
    if (!commitment) throw new Error('the round is not committed');
    expect(commitment).toMatchObject({ round: roundId, leaf, beaconRound, draws: draws.toBase58() });
    expect(await node.blockTime(commitment.slot)).toBe(commitment.time);
  }
});

test('drawsProgramState accepts only the committed program without an upgrade authority', async () => {
  expect(await drawsProgramState(node, program())).toBe('ours');
  expect(await drawsProgramState(node, chain.keys.program.publicKey)).toBe('differs');
  expect(await drawsProgramState(node, newSigner().publicKey)).toBe('missing');
  expect(await drawsProgramState(node, chain.keys.committer.publicKey)).toBe('missing');
  const state = () => drawsProgramState(node, program());
  expect(await withProgramData((data) => void data.writeUInt8(1, 12), state)).toBe('upgradeable');
  expect(await withProgramData((data) => void data.writeUInt8((data[500] ?? 0) ^ 1, 500), state)).toBe('differs');
  expect(await withProgramData((data) => data.subarray(0, -1), state)).toBe('differs');
  expect(await withProgramData((data) => Buffer.concat([data, Buffer.alloc(9)]), state)).toBe('ours');
  expect(await state()).toBe('ours');
});

test('drawsProgramState compares with the file beside the source', () => {
  const record = JSON.parse(readFileSync(join(import.meta.dirname, '../../../programs/draws/draws.so.json'), 'utf8'));
  expect(Object.keys(record.sources)).toContain('draws.c');
});
