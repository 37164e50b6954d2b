import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROGRAM_DATA_HEADER_BYTES, programDataAddress, UPGRADEABLE_LOADER } from '#platform/solana/deployed-program.ts';
import { readDistributor } from '#platform/solana/distributor/program.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';

const BYTES = readFileSync(join(import.meta.dirname, '../../../programs/distributor/distributor.so'));
const FINAL_LOADER = parseAddress('BPFLoader2111111111111111111111111111111111');
const program = parseAddress(randomAddress());
const [authority, other] = [randomAddress(), randomAddress()];

/** Returns the account of an upgradeable program and the account with its bytes. An authority of null makes the program final. */
function upgradeable(by: string | null, bytes: Buffer = BYTES): { owner: Address; data: Buffer }[] {
  const account = Buffer.concat([Buffer.from([2, 0, 0, 0]), programDataAddress(program).toBytes()]);
  const header = Buffer.alloc(PROGRAM_DATA_HEADER_BYTES);
  header.writeUInt32LE(3, 0);
  header.set(by === null ? [0] : [1, ...parseAddress(by).toBytes()], 12);
  return [account, Buffer.concat([header, bytes])].map((data) => ({ owner: UPGRADEABLE_LOADER, data }));
}
/** Checks the program against accounts on the chain. An RPC node returns an account only if its address is asked for. */
async function check(accounts: readonly { owner: Address; data: Buffer }[], expected: string | null) {
  const known = new Map([program, programDataAddress(program)].map((address, i) => [address.toBase58(), accounts[i] ?? null]));
  const node = { accounts: async (asked: readonly Address[]) => ({ slot: 1, accounts: asked.map((one) => known.get(one.toBase58()) ?? null) }) };
  return await readDistributor(node as unknown as RpcNode, program, expected);
}
const RIGHT = { isOurs: true, problem: null };

test('the program with the committed bytes is right when it is final or when only the expected address may replace it', async () => {
  expect(await check([{ owner: FINAL_LOADER, data: BYTES }], null)).toEqual({ ...RIGHT, isFinal: true });
  expect(await check(upgradeable(null), null)).toEqual({ ...RIGHT, isFinal: true });
  expect(await check(upgradeable(null), authority)).toEqual({ ...RIGHT, isFinal: true });
  expect(await check(upgradeable(authority), authority)).toEqual({ ...RIGHT, isFinal: false });
});

test('a program that another address may replace is a problem, and the problem names the address and the setting', async () => {
  const named = `the upgrade authority of the distributor program is ${other}, but `;
  expect(await check(upgradeable(other), authority)).toEqual({ isOurs: true, isFinal: false, problem: `${named}UPGRADE_AUTHORITY is ${authority}` });
  expect((await check(upgradeable(other), null)).problem).toBe(`${named}the program must be final (UPGRADE_AUTHORITY)`);
});

test('no program, or a program with other bytes, is a problem, also when it is final', async () => {
  expect(await check([], null)).toEqual({ isOurs: false, isFinal: false, problem: `there is no program at ${program}` });
  const problem = 'the program on the chain differs from distributor.so';
  expect(await check([{ owner: FINAL_LOADER, data: BYTES.subarray(1) }], null)).toEqual({ isOurs: false, isFinal: true, problem });
  expect(await check(upgradeable(authority, BYTES.subarray(0, -1)), authority)).toEqual({ isOurs: false, isFinal: false, problem });
});
