import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { staleWhileRevalidate } from '#platform/redis/stale-while-revalidate.ts';
import type { Name } from './name.ts';
import { accountsOf, nameAddresses, resolveBySns } from './name-service.ts';
import { recordAddress, resolveBySrs } from './record-service.ts';
import type { NameResolution } from './resolution.ts';

/**
 * The slot at which `.sol` names moved from the name service to the record service (about 2026-10-15 on mainnet). From this slot on, the libraries of
 * the name service resolve only `.sns` names by the name service. Local test clusters are below this slot.
 */
export const SOL_MOVED_AT_SLOT = 452_825_395;

/** A resolution in the form that Redis caches: a wallet address, or the reason why payments to the name are rejected. */
const CachedResolution = z.union([z.object({ wallet: Wallet }), z.object({ refused: z.string() })]);

/** Cache time of a resolution, ms. It is short, and stale values are never returned, because a name can be sold at any time. */
const FRESH_MS = 15_000;

const readWallet = staleWhileRevalidate<Name, z.output<typeof CachedResolution>>({
  name: 'names',
  keyOf: (name) => name.text,
  shape: CachedResolution,
  freshMs: FRESH_MS,
  staleMs: FRESH_MS,
  waitIfStaleMs: 0,
  waitIfMissingMs: 8_000,
  failureBackoffMs: 1_000,
  maxKeys: 1_000,
  maxConcurrent: 50,
  unavailableMessage: 'the name cannot be read at the moment, try again',
  async read(app, name) {
    const resolution = await resolveName(app, name);
    return 'wallet' in resolution ? { wallet: resolution.wallet.toBase58() } : resolution;
  },
});

/**
 * Returns the wallet that a name resolves to (base58), cached for 15 s, or the reason why payments to the name are rejected.
 * @throws 503 while the RPC node does not answer
 */
export async function walletOfName(app: App, name: Name): Promise<{ wallet: string } | { refused: string }> {
  return (await readWallet(app, name)).value;
}

/**
 * Resolves a name from finalized accounts, so that a fork cannot change the result. From SOL_MOVED_AT_SLOT on, both registries must resolve a `.sol`
 * name to the same wallet, because a person who noted the name before the move means the wallet in the old registry.
 */
async function resolveName(app: App, name: Name): Promise<NameResolution> {
  const addresses = nameAddresses(name);
  const keys = [recordAddress(name), ...accountsOf(addresses)];
  const read = await app.chain.node.accounts(keys, 'finalized');
  const [record = null, ...accounts] = read.accounts;
  const bySns = resolveBySns(app, addresses, accounts);
  if (name.suffix === 'sns' || read.slot < SOL_MOVED_AT_SLOT) return await bySns;
  const [sns, srs] = await Promise.all([bySns, resolveBySrs(app, name, record)]);
  if ('refused' in srs) return srs;
  if ('refused' in sns) return { refused: `${sns.refused} (in the name service, the registry of .sol names before the move)` };
  if (!sns.wallet.equals(srs.wallet)) return { refused: 'the record service and the name service resolve the name to different wallets' };
  return srs;
}
