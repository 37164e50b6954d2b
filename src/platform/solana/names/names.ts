import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { lastGood } from '#platform/redis/stale-while-revalidate.ts';
import { rpc } from '../solana.ts';
import type { Name } from './name.ts';
import { accountsOf, judgeBySns, nameAddresses } from './name-service.ts';
import { judgeBySrs, recordAddress } from './record-service.ts';
import type { Verdict } from './verdict.ts';

export { NAME_RULE, type Name, parseName } from './name.ts';

/**
 * The slot from which `.sol` is no longer the name service's (whose names are called `.sns` since) but the record service's: that at
 * which the name service's own libraries stopped reading `.sol` there (about 2026-10-15 on mainnet; chains of one's own are below it).
 */
export const SOL_MOVED_AT_SLOT = 452_825_395;

/** A verdict as Redis keeps it: a wallet's address, or why there is none. */
const Stored = z.union([z.object({ wallet: Wallet }), z.object({ refused: z.string() })]);

/** How long an answer is handed out: a name may change hands any minute. It never stands in for one that cannot be had, ms. */
const FRESH_MS = 15_000;

const readWallet = lastGood<Name, z.output<typeof Stored>>({
  name: 'names',
  keyOf: (name) => name.text,
  shape: Stored,
  freshMs: FRESH_MS,
  keptMs: FRESH_MS,
  patienceMs: 0,
  withinMs: 8_000,
  restMs: 1_000,
  most: 1_000,
  atOnce: 50,
  unknown: 'names cannot be read at the moment, try again',
  async read(app, name) {
    const verdict = await resolveName(app, name);
    return 'wallet' in verdict ? { wallet: verdict.wallet.toBase58() } : verdict;
  },
});

/**
 * The wallet that a name stands for, as base58, at most 15 s old, or why it stands for none that money may be sent to.
 * @throws 503 while the chain cannot be asked
 */
export async function walletOfName(app: App, name: Name): Promise<{ wallet: string } | { refused: string }> {
  return (await readWallet(app, name)).value;
}

/**
 * Asks the chain, at finality, so that no fork decides. A `.sol` name that has moved must lead to the same wallet by both registries:
 * the two drift apart, and who wrote it down before it moved meant the other.
 * @param movedAtSlot see `SOL_MOVED_AT_SLOT`
 */
export async function resolveName(app: App, name: Name, movedAtSlot = SOL_MOVED_AT_SLOT): Promise<Verdict> {
  const addresses = nameAddresses(name);
  const keys = [recordAddress(name), ...accountsOf(addresses)];
  const { context, value } = await rpc(() => app.chain.connection.getMultipleAccountsInfoAndContext(keys, 'finalized'));
  const [record = null, ...accounts] = value;
  const bySns = judgeBySns(app, addresses, accounts);
  if (name.suffix === 'sns' || context.slot < movedAtSlot) return await bySns;
  const [sns, srs] = await Promise.all([bySns, judgeBySrs(app, name, record)]);
  if ('refused' in srs) return srs;
  if ('refused' in sns) return { refused: `${sns.refused} (in the registry that .sol names were in before)` };
  if (!sns.wallet.equals(srs.wallet)) return { refused: 'the name leads to one wallet by the record service, and to another by the name service' };
  return srs;
}

/** Whether somebody can hold the key of an address; false for the addresses of programs. */
export const isOnCurve = (address: string): boolean => PublicKey.isOnCurve(new PublicKey(address).toBytes());
