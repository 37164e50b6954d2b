import { generateKeyPairSync, randomInt, sign } from 'node:crypto';
import bs58 from 'bs58';
import { z } from 'zod';
import { SYSTEM_ORIGIN } from '#dev/stack/system.ts';
import { renderSignIn } from '#lib/sign-in/siws.ts';
import { oneOf } from './days.ts';
import { request } from './load.ts';
import type { BenchWallet } from './wallets.ts';

/** A type of request in the mixed load. */
export interface RequestType {
  readonly name: string;
  /** Requests of this type per 100 requests of the load. */
  readonly share: number;
  /** Returns the bytes of the next request, or null when there are no more requests. */
  next(): Buffer | null;
  /** Called with the body of each response with status 200. */
  onResponse?(body: Buffer): void;
}

const Nonce = z.object({
  signInInput: z.object({
    domain: z.string(),
    statement: z.string(),
    uri: z.string(),
    version: z.literal('1'),
    chainId: z.string(),
    nonce: z.string(),
    issuedAt: z.string(),
    expirationTime: z.string(),
  }),
});

/**
 * Returns the request types of the mixed load. Of 100 requests, 25 send a score (each for its own play), 10 begin a play, 15 enter a round through
 * chat, 20 read the top 100, 10 read a wallet's own rank, 10 read a wallet's profile, and 10 are one half of a sign-in (they get a nonce or send its
 * signature).
 */
export function requestMix(options: {
  url: string;
  gameId: string;
  wallets: readonly BenchWallet[];
  plays: { playId: string; by: BenchWallet }[];
}): RequestType[] {
  const { url, gameId, wallets, plays } = options;
  const { host } = new URL(url);
  const get = (path: string, by?: BenchWallet) => request('GET', path, host, by ? { Cookie: by.cookie } : {});
  const post = (path: string, body: unknown, by?: BenchWallet) =>
    request('POST', path, host, { Origin: SYSTEM_ORIGIN, ...(by ? { Cookie: by.cookie } : {}) }, body);
  return [
    {
      name: 'score',
      share: 25,
      next() {
        const play = plays.pop();
        return play ? post('/arcade/score', { gameId, score: randomInt(1_000_000), playId: play.playId, durationMs: 50_000 }, play.by) : null;
      },
    },
    { name: 'play', share: 10, next: () => post(`/game/${gameId}/play`, {}, oneOf(wallets)) },
    { name: 'entry through chat', share: 15, next: () => post('/chat/message', { text: '!enter' }, oneOf(wallets)) },
    { name: 'top 100', share: 20, next: () => get('/leaderboard/global?limit=100') },
    { name: 'own rank', share: 10, next: () => get('/leaderboard/global/rank', oneOf(wallets)) },
    { name: 'profile', share: 10, next: () => get('/api/profile', oneOf(wallets)) },
    signIns(post),
  ];
}

/**
 * Returns a request type that gets nonces, signs them and sends the signatures. The keys are generated before the load, so that generating keys does
 * not affect the measurement.
 */
function signIns(post: (path: string, body: unknown) => Buffer): RequestType {
  const keys = Array.from({ length: 200 }, () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    return { address: bs58.encode(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)), privateKey };
  });
  const proofs: Buffer[] = [];
  return {
    name: 'half of a sign-in',
    share: 10,
    next: () => proofs.pop() ?? post('/auth/nonce', {}),
    onResponse(body) {
      const nonce = Nonce.safeParse(JSON.parse(body.toString()));
      if (!nonce.success) return;
      const { address, privateKey } = oneOf(keys);
      const message = renderSignIn(nonce.data.signInInput, address);
      proofs.push(post('/auth/verify', { publicKey: address, message, signature: bs58.encode(sign(null, Buffer.from(message), privateKey)) }));
    },
  };
}
