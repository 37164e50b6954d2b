import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpReply } from '../http-reply.ts';
import type { Beacon, BeaconRound } from './beacon.ts';

/**
 * Handles a request to drand's HTTP API: `/chains`, `/info`, `/public/latest`, `/public/{round}` and `/health`. All paths except `/chains` may begin
 * with the chain hash.
 * @param clock function that returns the time of the localnet, unix ms
 */
export async function answerBeacon(beacon: Beacon, clock: () => number, path: string): Promise<HttpReply> {
  if (beacon.delayMs > 0) await sleep(beacon.delayMs);
  const parts = path.split('/').filter(Boolean);
  const now = clock();
  const ok = (body: object): HttpReply => ({ status: 200, body });
  if (path === '/chains') return ok([beacon.chainHash]);
  if (parts[0] === beacon.chainHash) parts.shift();
  const [kind, which] = parts;
  if (parts.length === 1 && kind === 'info') return ok(beacon.info());
  if (parts.length === 1 && kind === 'health') return ok({ current: beacon.latest(now)?.round ?? 0, expected: beacon.roundAt(now) });
  if (parts.length !== 2 || kind !== 'public' || which === undefined) return { status: 404, body: { error: 'no such path' } };
  return roundReply(which === 'latest' ? beacon.latest(now) : requestedRound(which, (round) => beacon.round(round, now)));
}

function requestedRound(text: string, find: (round: number) => BeaconRound | null): BeaconRound | null | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? find(Number(text)) : undefined;
}

function roundReply(round: BeaconRound | null | undefined): HttpReply {
  if (round === undefined) return { status: 400, body: { error: 'round must be a whole number from 1 on' } };
  return round === null ? { status: 404, body: { error: 'round is not published yet' } } : { status: 200, body: round };
}
