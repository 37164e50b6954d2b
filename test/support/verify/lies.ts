import { expect } from '@jest/globals';
import { decodeCommitment } from '#lib/draw/accounts.ts';
import { type VerifyOptions, verifyRound } from '#packages/verify/src/index.ts';
import { CHAIN, chatParameters, drawsOf, entriesOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '../areas/board-model.ts';
import { encodeCommitment, encodeDraws } from './accounts.ts';
import { createWorld, type World } from './world.ts';

/** The round about which houses lie. */
export const chat = chatParameters();
export const entries = entriesOf(chat, 60, 25, randomGenerator(23));

/** A lie: a change of an honest world, and the check that names it. `keep`: what the verifier kept before. */
export interface LieCase {
  readonly name: string;
  readonly check: string;
  readonly lie: (world: World) => void;
  readonly keep?: (honest: World) => Partial<VerifyOptions>;
}

async function verdictOf({ lie, keep }: LieCase, outcome: 'false' | 'unknown') {
  const world = createWorld(chat, entries);
  const kept = keep?.(world) ?? {};
  lie(world);
  const { verdict, steps } = await verifyRound(world.options(kept));
  return { verdict, named: steps.filter((step) => step.outcome === outcome).map((step) => step.check) };
}

/** Expects that a round is false because of one check. */
export async function expectFalse(lie: LieCase): Promise<void> {
  expect(await verdictOf(lie, 'false')).toEqual({ verdict: 'false', named: [lie.check] });
}

/** Expects that a round cannot be checked because of one check. */
export async function expectUnknown(lie: LieCase): Promise<void> {
  expect(await verdictOf(lie, 'unknown')).toEqual({ verdict: 'cannot be checked', named: [lie.check] });
}

/** Two receipts that a verifier kept. */
export const receipts = (honest: World) => ({ receipts: [honest.receipt(0), honest.receipt(41)] });

export function first<Value>(map: ReadonlyMap<string, Value>): Value {
  const [value] = map.values();
  if (value === undefined) throw new Error('the map is empty');
  return value;
}

/** Changes the draws account on the chain. */
export const draws = (world: World, over: Parameters<typeof drawsOf>[1]) =>
  world.accounts.set(world.addresses.draws, { owner: world.addresses.program, data: encodeDraws(drawsOf(CHAIN, over)) });

/** Changes the commitment on the chain. */
export function commitment(world: World, change: object): void {
  const account = world.accounts.get(world.addresses.commitment);
  const decoded = account && decodeCommitment(account.data);
  if (!decoded) throw new Error('there is no commitment');
  world.accounts.set(world.addresses.commitment, { owner: world.addresses.program, data: encodeCommitment({ ...decoded, ...change }) });
}

/** Replaces all that the house shows and commits by another round of the same id; only the kept statements remain. */
export function becomes(world: World, parameters = chat, list = entries): void {
  const other = createWorld(parameters, list);
  Object.assign(world, { audit: other.audit, lines: other.lines, payouts: other.payouts });
  for (const [address, account] of other.accounts) world.accounts.set(address, account);
  world.transactions.clear();
  for (const [signature, transaction] of other.transactions) world.transactions.set(signature, transaction);
}
