import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { committersOf } from '../lifecycle/sequence.ts';
import { receiptKey } from '../receipts.ts';
import { KeysView } from '../results-schemas.ts';
import { FRESH } from './files.ts';

/** An address, or null where this process was not told. */
function told(read: () => { toBase58(): string }): string | null {
  try {
    return read().toBase58();
  } catch (error) {
    if (error instanceof HttpError) return null;
    throw error;
  }
}

async function keysOf({ config, chain, db }: App) {
  const { id, publicKey } = receiptKey({ config });
  const committer = told(() => chain.address('committer'));
  const { chainHash, publicKey: beaconKey, urls } = config.chain.beacon;
  return {
    receipts: [{ id, algorithm: 'ed25519' as const, publicKey }],
    committer,
    formerCommitters: (await committersOf(db)).filter((one) => one !== committer),
    treasury: told(() => chain.address('treasury')),
    mints: { reward: told(() => chain.rewardMint), usdc: told(() => chain.usdcMint) },
    beacon: { chainHash, publicKey: beaconKey, urls: [...urls] },
  };
}

export const getKeys = route({
  method: 'get',
  path: '/.well-known/coinop-keys',
  auth: 'public',
  summary: 'The keys and addresses that rounds are checked against',
  description: 'Whoever wants to trust nobody reads them once, from here or elsewhere, and keeps them.',
  returns: { 200: KeysView },
  fails: [],
  cache: FRESH,
  handler: async ({ app }) => reply(200, await keysOf(app)),
});
