import bs58 from 'bs58';
import { z } from 'zod';
import { createWallet, signInText } from '#test/support/wallet.ts';
import type { Random } from './random.ts';
import type { Recipe } from './recipes.ts';
import type { Player, World } from './world.ts';

/** What a request was, and what it was answered, as far as others follow from it. */
interface Answered {
  readonly world: World;
  readonly player: Player | null;
  readonly path: string;
  readonly answer: unknown;
}
type Next = readonly [operation: string, recipe: Recipe];

const SignIn = z.object({
  ...{ domain: z.string(), statement: z.string(), uri: z.string(), version: z.string(), chainId: z.string() },
  ...{ nonce: z.string(), issuedAt: z.string(), expirationTime: z.string() },
});
const Identified = z.object({ id: z.string() });
const idIn = (path: string) => path.split('/')[2] ?? '';
const ofAll = (operations: readonly string[], recipe: Recipe): Next[] => operations.map((operation) => [operation, recipe]);

/** Which requests an answer makes possible that nobody could make up: of whose, of which, with what was just told. */
const FOLLOWING: Readonly<Record<string, (answered: Answered) => readonly Next[]>> = {
  'POST /auth/nonce': ({ answer }) => {
    const wallet = createWallet();
    const message = signInText(z.object({ signInInput: SignIn }).parse(answer).signInInput, wallet.address);
    return [['POST /auth/verify', { body: { publicKey: wallet.address, message, signature: bs58.encode(wallet.sign(Buffer.from(message))) } }]];
  },
  'POST /game/{id}/play': ({ player, answer }) => {
    const { playId, gameId } = z.object({ playId: z.string(), gameId: z.string() }).parse(answer);
    // Some of them are more than the game can give.
    const score = Number.parseInt(playId.slice(-5), 16) % 12_000;
    return player ? [['POST /arcade/score', { player, isOwn: true, body: { gameId, playId, score } }]] : [];
  },
  'GET /api/tasks/daily': ({ player, answer }) => {
    const tasks = z.array(Identified).parse(answer);
    return player ? tasks.map(({ id }) => ['POST /api/tasks/daily/complete', { player, body: { taskId: id } }] as const) : [];
  },
  'POST /battle/create': ({ world, player, answer }) => {
    const params = { id: Identified.parse(answer).id };
    const others = world.players.filter((one) => one !== player).slice(0, 2);
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
  'POST /api/rewards/epoch/import': ({ world, answer }) => {
    const { epoch } = z.object({ epoch: z.number() }).parse(answer);
    return world.players.map(({ address }) => [
      'GET /api/rewards/epoch/{epoch}/proof/{wallet}',
      { params: { epoch: String(epoch), wallet: address } },
    ]);
  },
  'GET /api/rewards/epoch/{epoch}/proof/{wallet}': ({ world, answer }) => {
    const { epoch, wallet, proof } = z.object({ epoch: z.number(), wallet: z.string(), proof: z.array(z.string()) }).parse(answer);
    const player = world.players.find(({ address }) => address === wallet);
    return player ? [['POST /api/rewards/claim', { player, body: { epoch, proof } }]] : [];
  },
  'POST /api/rewards/claim': ({ answer }) => {
    const { claimId } = z.object({ claimId: z.string() }).parse(answer);
    return [['GET /api/rewards/claims/{id}', { params: { id: claimId } }]];
  },
};

const MOST_KEPT = 200;

/** Requests that wait to be made, by operation. */
export class Following {
  readonly #waiting = new Map<string, Recipe[]>();

  /** Takes from the answer to a valid request what follows from it. */
  note(operation: string, answered: Answered): void {
    for (const [name, recipe] of FOLLOWING[operation]?.(answered) ?? []) {
      const waiting = this.#waiting.get(name) ?? [];
      this.#waiting.set(name, waiting);
      waiting.push(recipe);
      if (waiting.length > MOST_KEPT) waiting.shift();
    }
  }

  /** One that waits, or undefined. Half of them stay, to be made once more. */
  take(operation: string, random: Random): Recipe | undefined {
    const waiting = this.#waiting.get(operation) ?? [];
    if (waiting.length === 0 || random.chance(0.2)) return undefined;
    const at = random.int(0, waiting.length - 1);
    return random.chance(0.5) ? waiting[at] : waiting.splice(at, 1)[0];
  }
}
