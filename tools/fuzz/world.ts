import { registerGame } from '#test/support/areas/arcade.ts';
import { createWallet, send, signIn, type TestWallet } from '#test/support/wallet.ts';
import { Following } from './follow.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

/** A wallet that is signed in. */
export interface Player {
  readonly wallet: TestWallet;
  readonly address: string;
  cookie: string;
}

const MOST_KEPT = 200;
const PLAYERS = 8;
const STRANGERS = 12;
/** Games in which a play may be scored at once. */
export const GAMES = ['fuzz-a', 'fuzz-b', 'fuzz-c'] as const;

/** What a caller of the service has come to know: sessions, and what answers told of. */
export class World {
  readonly target: Target;
  readonly players: Player[] = [];
  /** Wallets that own nothing and do nothing, to be banned and asked for. */
  readonly strangers: string[] = [];
  readonly following = new Following();
  readonly etags: string[] = [];
  /** Every session id that was ever given out. */
  readonly sessionIds = new Set<string>();
  /** What was replied under an `Idempotency-Key`, by who asked for what under which. */
  readonly replies = new Map<string, Readonly<Record<string, string>>>();
  readonly #known = new Map<string, unknown[]>();

  constructor(target: Target) {
    this.target = target;
  }

  /** Signs wallets in, and learns what there is. */
  async open(): Promise<void> {
    await Promise.all(Array.from({ length: PLAYERS }, () => this.join()));
    // Who has never signed in is nobody.
    await Promise.all(Array.from({ length: STRANGERS }, async () => this.strangers.push((await signIn(this.target)).wallet)));
    for (const { address } of this.players) this.learn('wallet', address);
    // Without a token of theirs the games are as they are.
    await Promise.all(GAMES.map((id) => registerGame(this.target.url, this.target.credentials.admin, id).catch(() => undefined)));
    // Who has been paid has a token account, and can claim.
    await Promise.all(
      this.players.map(({ address: wallet }) =>
        send(this.target, '/admin/payments', {
          json: { wallet, currency: 'reward', amount: '1', reference: `fuzz-${wallet}` },
          headers: { Authorization: `Bearer ${this.target.credentials.admin}` },
        }).then((response) => response.arrayBuffer()),
      ),
    );
    this.harvest(['game'], await (await fetch(`${this.target.url}/config/games`)).json());
    for (const id of GAMES) this.learn('game', id);
  }

  /** Signs a wallet in: a new one, or one that has lost its session. */
  async join(player?: Player): Promise<void> {
    const wallet = player?.wallet ?? createWallet();
    const { cookie } = await signIn(this.target, wallet);
    this.noteCookie(cookie);
    if (player) player.cookie = cookie;
    else this.players.push({ wallet, address: wallet.address, cookie });
  }

  /** Remembers the session that a cookie holds. */
  noteCookie(cookie: string): void {
    const id = /coinop\.sid=([\w-]{20,})/.exec(cookie)?.[1];
    if (id !== undefined) this.sessionIds.add(id);
  }

  /** Something of a kind that was heard of, or undefined. */
  recall(kind: string, random: Random): unknown {
    const kept = this.#known.get(kind);
    return kept && kept.length > 0 ? random.pick(kept) : undefined;
  }

  learn(kind: string, value: unknown): void {
    const kept = this.#known.get(kind) ?? [];
    this.#known.set(kind, kept);
    if (kept.includes(value)) return;
    kept.push(value);
    if (kept.length > MOST_KEPT) kept.splice(MOST_KEPT / 2, 1);
  }

  /**
   * Learns from the JSON of an answer: ids by the names of their fields, and by what they are the ids of.
   * @param words what is told of: those of the path that was asked, or the name of the field
   */
  harvest(words: readonly string[], value: unknown, depth = 0): void {
    if (depth > 4 || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value.slice(0, 20)) this.harvest(words, item, depth + 1);
      return;
    }
    for (const [key, field] of Object.entries(value)) {
      if (typeof field === 'object') this.harvest([key], field, depth + 1);
      else if (key === 'id') for (const word of words) this.learn(singular(word), field);
      else if (/Id$/.test(key)) this.learn(singular(key.slice(0, -2)), field);
      else if (['wallet', 'code', 'epoch'].includes(key)) this.learn(key, field);
    }
  }
}

/** `scores` and `score` are the same kind of thing. */
export const singular = (word: string): string => word.replace(/(?<=\w\w)s$/, '');
