import { randomBytes } from 'node:crypto';
import { bytesOf, type Key, MEMO_PROGRAM } from '../keys.ts';
import type { Chain } from './chain.ts';
import type { TransactionMeta } from './meta.ts';
import { parseTransaction } from './wire.ts';

const TEXT = Buffer.from('hello');
const FEE = 5_000;

/**
 * Adds memo transactions of a stranger to the current block. Each of them names the given addresses. The SVM does not execute them, so that a test can
 * add tens of thousands of transactions in a short time; no account changes.
 */
export function addStrangers(chain: Chain, addresses: readonly Key[], count: number): void {
  const slot = chain.tick();
  const blockhash = bytesOf(chain.hashes.of(chain.clock.lastBlock(slot - 1)));
  const keys = [randomBytes(32), ...addresses.map(bytesOf), bytesOf(MEMO_PROGRAM)];
  const program = keys.length - 1;
  const message = Buffer.concat([
    Buffer.from([1, 0, keys.length - 1, keys.length]),
    ...keys,
    blockhash,
    Buffer.from([1, program, 0, TEXT.length]),
    TEXT,
  ]);
  const balances = keys.map((_, i) => (i === 0 ? 1_000_000_000 : 1));
  const meta: TransactionMeta = {
    err: null,
    status: { Ok: null },
    fee: FEE,
    preBalances: balances,
    postBalances: balances.map((balance, i) => (i === 0 ? balance - FEE : balance)),
    innerInstructions: [],
    logMessages: [],
    preTokenBalances: [],
    postTokenBalances: [],
    rewards: [],
    loadedAddresses: { writable: [], readonly: [] },
    computeUnitsConsumed: 1_000,
  };
  for (let i = 0; i < count; i++) {
    const tx = parseTransaction(Buffer.concat([Buffer.from([1]), randomBytes(64), message]));
    chain.record(tx, slot, { keys: tx.keys, meta, writes: [] });
  }
}
