import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { reply, route } from '#platform/http/route.ts';
import { receiptKey } from '../receipts.ts';
import { KeysView } from '../results-schemas.ts';
import { REVALIDATE } from './cache-control.ts';

/** Returns an address as base58, or null when the address is not configured in this process. */
function addressOrNull(read: () => { toBase58(): string }): string | null {
  try {
    return read().toBase58();
  } catch (error) {
    if (error instanceof HttpError) return null;
    throw error;
  }
}

function keysOf(app: App) {
  const { config, chain } = app;
  const { chainHash, publicKey: beaconKey, urls } = config.chain.beacon;
  return {
    drawsProgram: addressOrNull(() => chain.drawsProgramId),
    draws: addressOrNull(() => chain.drawsAddress),
    receiptKey: receiptKey(app).publicKey,
    committer: addressOrNull(() => chain.address('committer')),
    treasury: addressOrNull(() => chain.address('treasury')),
    mints: { reward: addressOrNull(() => chain.rewardMint), usdc: addressOrNull(() => chain.usdcMint) },
    beacon: { chainHash, publicKey: beaconKey, urls: [...urls] },
  };
}

export const getKeys = route({
  method: 'get',
  path: '/.well-known/coinop-keys',
  auth: 'public',
  summary: 'The public keys and addresses for verifying rounds',
  description: 'A verifier should read them once, store them, and compare every later round with the stored copy. The draws account never changes.',
  returns: { 200: KeysView },
  fails: [],
  cache: REVALIDATE,
  handler: async ({ app }) => reply(200, keysOf(app)),
});
