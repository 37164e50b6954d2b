import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply, Served } from '../served.ts';
import type { Round } from './beacon.ts';

/**
 * drand's HTTP API: `/chains`, `/info`, `/public/latest`, `/public/{round}` and `/health`; all but the first also with the
 * chain's hash in front.
 */
export async function answerBeacon({ beacon, chain }: Served, path: string): Promise<Reply> {
  if (beacon.delayMs > 0) await sleep(beacon.delayMs);
  const parts = path.split('/').filter(Boolean);
  const { now } = chain.clock;
  const ok = (body: object): Reply => ({ status: 200, body });
  if (path === '/chains') return ok([beacon.chainHash]);
  if (parts[0] === beacon.chainHash) parts.shift();
  const [kind, which] = parts;
  if (parts.length === 1 && kind === 'info') return ok(beacon.info());
  if (parts.length === 1 && kind === 'health') return ok({ current: beacon.latest(now)?.round ?? 0, expected: beacon.roundAt(now) });
  if (parts.length !== 2 || kind !== 'public' || which === undefined) return { status: 404, body: { error: 'no such path' } };
  return roundReply(which === 'latest' ? beacon.latest(now) : askedRound(which, (round) => beacon.round(round, now)));
}

function askedRound(text: string, find: (round: number) => Round | null): Round | null | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? find(Number(text)) : undefined;
}

function roundReply(round: Round | null | undefined): Reply {
  if (round === undefined) return { status: 400, body: { error: 'a round is a whole number from 1 on' } };
  return round === null ? { status: 404, body: { error: 'this round has not come yet' } } : { status: 200, body: round };
}
