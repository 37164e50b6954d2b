import bs58 from 'bs58';
import { z } from 'zod';
import { createWallet, signInText } from '#test/support/wallet.ts';
import type { Player } from './player.ts';
import type { Random } from './random.ts';
import type { RequestTemplate } from './requests/request-template.ts';

/** The parts of a request and of its response that follow-up requests need. */
interface Exchange {
  /** All players of the run. */
  readonly players: readonly Player[];
  readonly player: Player | null;
  readonly path: string;
  readonly answer: unknown;
}
type FollowUp = readonly [operation: string, template: RequestTemplate];

const SignIn = z.object({
  ...{ domain: z.string(), statement: z.string(), uri: z.string(), version: z.string(), chainId: z.string() },
  ...{ nonce: z.string(), issuedAt: z.string(), expirationTime: z.string() },
});
const Identified = z.object({ id: z.string() });
const idIn = (path: string) => path.split('/')[2] ?? '';
const ofAll = (operations: readonly string[], template: RequestTemplate): FollowUp[] => operations.map((operation) => [operation, template]);

/**
 * Functions that create follow-up requests from the response to a request, by the operation of that request. A follow-up request needs values from
 * the response that cannot be generated (for example a nonce).
 */
const FOLLOW_UPS: Readonly<Record<string, (answered: Exchange) => readonly FollowUp[]>> = {
  'POST /auth/nonce': ({ answer }) => {
    const wallet = createWallet();
    const message = signInText(z.object({ signInInput: SignIn }).parse(answer).signInInput, wallet.address);
    return [['POST /auth/verify', { body: { publicKey: wallet.address, message, signature: bs58.encode(wallet.sign(Buffer.from(message))) } }]];
  },
  'POST /game/{id}/play': ({ player, answer }) => {
    const { playId, gameId } = z.object({ playId: z.string(), gameId: z.string() }).parse(answer);
    // Some of these scores are above the maximum of the game, on purpose.
    const score = Number.parseInt(playId.slice(-5), 16) % 12_000;
    return player ? [['POST /arcade/score', { player, isOwn: true, body: { gameId, playId, score } }]] : [];
  },
  'GET /api/tasks/daily': ({ player, answer }) => {
    const tasks = z.array(Identified).parse(answer);
    return player ? tasks.map(({ id }) => ['POST /api/tasks/daily/complete', { player, body: { taskId: id } }] as const) : [];
  },
  'POST /battle/create': ({ players, player, answer }) => {
    const params = { id: Identified.parse(answer).id };
    const others = players.filter((one) => one !== player).slice(0, 2);
    const joining = others.map((other) => ['POST /battle/{id}/join', { player: other, params }] as const);
    return player ? [...joining, ['POST /battle/{id}/start', { player, isOwn: true, params }]] : [];
  },
  'POST /events/burn': ({ player, answer }) => {
    const params = { id: Identified.parse(answer).id };
    return player ? [['POST /events/burn/{id}/activate', { player, isOwn: true, params }]] : [];
  },
  'POST /round': ({ player, answer }) => {
    const params = { id: Identified.parse(answer).id };
    return player ? [['POST /round/{id}/finalize', { player, params }]] : [];
  },
  'POST /round/{id}/ticket': ({ path, player, answer }) => {
    const { ticketId } = z.object({ ticketId: z.string() }).parse(answer);
    return player ? [['GET /round/{id}/tickets/{ticketId}', { player, params: { id: idIn(path), ticketId } }]] : [];
  },
  'GET /chat/round/recent-finalized': ({ answer }) => {
    const { success, data } = z.array(Identified).safeParse(answer);
    const parts = ['audit', 'entries/root', 'entries', 'winning-numbers', 'winners', 'payouts'].map((part) => `GET /chat/round/{id}/${part}`);
    return success ? data.flatMap(({ id }) => ofAll([...parts, 'GET /round/{id}/audit', 'GET /social/round/{id}/card.png'], { params: { id } })) : [];
  },
  'GET /chat/round/{id}/entries': ({ path, answer }) => {
    const entries = z.array(Identified).parse(answer);
    const id = path.split('/')[3] ?? '';
    return entries.map((entry) => ['GET /chat/round/{id}/entries/{entryId}/proof', { params: { id, entryId: entry.id } }] as const);
  },
  'POST /api/rewards/epoch/import': ({ players, answer }) => {
    const { epoch } = z.object({ epoch: z.number() }).parse(answer);
    return players.map(({ address }) => ['GET /api/rewards/epoch/{epoch}/proof/{wallet}', { params: { epoch: String(epoch), wallet: address } }]);
  },
  'GET /api/rewards/epoch/{epoch}/proof/{wallet}': ({ players, answer }) => {
    const { epoch, wallet, proof } = z.object({ epoch: z.number(), wallet: z.string(), proof: z.array(z.string()) }).parse(answer);
    const player = players.find(({ address }) => address === wallet);
    return player ? [['POST /api/rewards/claim', { player, body: { epoch, proof } }]] : [];
  },
  'POST /api/rewards/claim': ({ answer }) => {
    const { claimId } = z.object({ claimId: z.string() }).parse(answer);
    return [['GET /api/rewards/claims/{id}', { params: { id: claimId } }]];
  },
};

const MAX_PENDING = 200;

/** Pending follow-up requests, by operation. */
export class FollowUps {
  readonly #pending = new Map<string, RequestTemplate[]>();

  /** Adds the follow-up requests for the response to a valid request. */
  add(operation: string, answered: Exchange): void {
    for (const [name, template] of FOLLOW_UPS[operation]?.(answered) ?? []) {
      const pending = this.#pending.get(name) ?? [];
      this.#pending.set(name, pending);
      pending.push(template);
      if (pending.length > MAX_PENDING) pending.shift();
    }
  }

  /**
   * Returns a random pending request of an operation, or undefined. With a probability of one half the request stays pending, so that it is sent
   * again.
   */
  take(operation: string, random: Random): RequestTemplate | undefined {
    const pending = this.#pending.get(operation) ?? [];
    if (pending.length === 0 || random.chance(0.2)) return undefined;
    const at = random.int(0, pending.length - 1);
    return random.chance(0.5) ? pending[at] : pending.splice(at, 1)[0];
  }
}
