import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { SYSTEM_ORIGIN } from '#dev/stack/system.ts';
import { renderSignIn } from '#lib/sign-in/siws.ts';
import type { HostileLoad, HostileReport } from './hostile-process.ts';
import { request } from './load.ts';
import type { BenchWallet } from './wallets.ts';

/** What a hostile caller sends: its own requests with its session, and to which game. */
export interface HostileCaller extends BenchWallet {
  /** Host and port of an API process. */
  readonly host: string;
  readonly gameId: string;
  /** A game that accepts scores without a play. */
  readonly openGameId: string;
}

/** Returns the requests of a hostile caller, by class of routes. */
export function hostileClasses({ wallet, cookie, host, gameId, openGameId }: HostileCaller) {
  const own = { Cookie: cookie, Origin: SYSTEM_ORIGIN };
  const get = (path: string) => request('GET', path, host, own);
  const send = (method: string, path: string, body: unknown) => request(method, path, host, own, body);
  return {
    reads: [get('/leaderboard/global?limit=500'), get('/me/scores?limit=500'), get('/api/profile')],
    writes: [send('POST', `/game/${gameId}/play`, {}), send('POST', `/game/${gameId}/record`, { text: 'x'.repeat(1_000) })],
    scores: [send('POST', '/arcade/score', { gameId: openGameId, score: 1 })],
    'state saves': [send('PUT', `/game/${gameId}/state`, { text: 'x'.repeat(10_000) })],
    'look-ups': [send('POST', '/api/wallet/resolve', { identifier: '@RANDOM@.sol' }), get('/eligibility')],
    streams: [get('/events')],
    uploads: [uploadForm(cookie, host, gameId)],
    'sign-ins': [send('POST', '/auth/nonce', {}), send('POST', '/auth/verify', bogusProof(wallet))],
  } satisfies Record<string, readonly Buffer[]>;
}

/** Returns a sign-in with an invented nonce, so the service looks the nonce up and refuses the proof. */
function bogusProof(wallet: string): object {
  const text = {
    domain: new URL(SYSTEM_ORIGIN).host,
    statement: 'Sign in to Coinop.',
    uri: SYSTEM_ORIGIN,
    version: '1' as const,
    chainId: 'solana:mainnet',
  };
  const times = { issuedAt: new Date().toISOString(), expirationTime: new Date(Date.now() + 300_000).toISOString() };
  const message = renderSignIn({ ...text, nonce: '@RANDOM@'.repeat(3), ...times }, wallet);
  return { publicKey: wallet, message, signature: randomBytes(64).toString('base64') };
}

/** Returns an upload form with a GIF of 100 KB that is no valid file, so that it is received and inspected, but not stored. */
function uploadForm(cookie: string, host: string, gameId: string): Buffer {
  const part = (name: string, value: string | Buffer, file = '') =>
    Buffer.concat([Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`), Buffer.from(value), Buffer.from('\r\n')]);
  const gif = Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(100_000)]);
  const body = Buffer.concat([part('gameId', gameId), part('file', gif, '; filename="a.gif"'), Buffer.from('--b--\r\n')]);
  const headers = { Cookie: cookie, Origin: SYSTEM_ORIGIN, 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': String(body.length) };
  return Buffer.concat([request('POST', '/clip/upload', host, headers), body]);
}

/**
 * Starts a hostile caller in a process of its own, because it uses much CPU time.
 * @param ports the connections are spread over these ports
 * @param options.tls whether the ports speak TLS
 * @returns a function that stops the caller and returns a report about its responses
 */
export function startHostile(
  ports: readonly number[],
  connections: number,
  requests: readonly Buffer[],
  { tls = false } = {},
): () => Promise<HostileReport> {
  const child = fork(join(import.meta.dirname, 'hostile-process.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.send({ ports, tls, connections, requests: requests.map((bytes) => bytes.toString('base64')) } satisfies HostileLoad);
  return async () => {
    child.send('report');
    const [report] = (await once(child, 'message')) as [HostileReport];
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    return report;
  };
}
