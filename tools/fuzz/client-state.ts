import { registerGame } from '#test/support/areas/arcade.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';
import { FollowUps } from './follow-ups.ts';
import type { Player } from './player.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

const MAX_VALUES = 200;
const PLAYERS = 8;
const IDLE_WALLETS = 12;
/** Ids of games that the fuzzer registers. These games accept a score immediately after a play has begun. */
export const GAMES = ['fuzz-a', 'fuzz-b', 'fuzz-c'] as const;

/** Values that the simulated clients know: their sessions, and ids from responses. */
export class ClientState {
  readonly target: Target;
  readonly players: Player[] = [];
  /** Wallets that send no requests during the run. Administrator requests name these wallets (for example bans). */
  readonly idleWallets: string[] = [];
  readonly followUps = new FollowUps();
  readonly etags: string[] = [];
  /** All session ids issued so far. */
  readonly sessionIds = new Set<string>();
  /** Ids in the latest response to each combination of caller, request and idempotency key. */
  readonly replies = new Map<string, Readonly<Record<string, string>>>();
  readonly #known = new Map<string, unknown[]>();

  constructor(target: Target) {
    this.target = target;
  }

  /** Signs in the players, registers the games, and loads the ids of existing games. */
  async open(): Promise<void> {
    await Promise.all(Array.from({ length: PLAYERS }, () => this.signIn()));
    // Idle wallets sign in too, because the service rejects wallets that have never signed in.
    await Promise.all(Array.from({ length: IDLE_WALLETS }, async () => this.idleWallets.push((await signIn(this.target)).wallet)));
    for (const { address } of this.players) this.remember('wallet', address);
    // Ignores errors, because a run without a valid admin token cannot register the games, but can continue without these games.
    await Promise.all(GAMES.map((id) => registerGame(this.target.url, this.target.credentials.admin, id).catch(() => undefined)));
    // Pays every player once, so that every player has a token account and can claim rewards.
    await Promise.all(
      this.players.map(({ address: wallet }) =>
        send(this.target, '/admin/payments', {
          json: { wallet, currency: 'reward', amount: '1', reference: `fuzz-${wallet}` },
          headers: { Authorization: `Bearer ${this.target.credentials.admin}` },
        }).then((response) => response.arrayBuffer()),
      ),
    );
    this.rememberIds(['game'], await (await fetch(`${this.target.url}/config/games`)).json());
    for (const id of GAMES) this.remember('game', id);
  }

  /** Signs in a player again, or signs in a new wallet as a new player when `player` is undefined. */
  async signIn(player?: Player): Promise<void> {
    const wallet = player?.wallet ?? createWallet();
    const { cookie } = await signIn(this.target, wallet);
    this.noteCookie(cookie);
    if (player) player.cookie = cookie;
    else this.players.push({ wallet, address: wallet.address, cookie });
  }

  /** Stores the session id that a Cookie or Set-Cookie header contains. */
  noteCookie(cookie: string): void {
    const id = /coinop\.sid=([\w-]{20,})/.exec(cookie)?.[1];
    if (id !== undefined) this.sessionIds.add(id);
  }

  /** Returns a random known value of a kind (for example `game`), or undefined when no value is known. */
  recall(kind: string, random: Random): unknown {
    const values = this.#known.get(kind);
    return values && values.length > 0 ? random.pick(values) : undefined;
  }

  remember(kind: string, value: unknown): void {
    const values = this.#known.get(kind) ?? [];
    this.#known.set(kind, values);
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > MAX_VALUES) values.splice(MAX_VALUES / 2, 1);
  }

  /**
   * Stores the ids in a JSON response by kind (for example `game`). An id in a field `gameId` has the kind `game`; the kind of an id in a field `id`
   * is the name of the object.
   * @param words the names of the object: the words of the request path, or the name of the field that contains the object
   */
  rememberIds(words: readonly string[], value: unknown, depth = 0): void {
    if (depth > 4 || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value.slice(0, 20)) this.rememberIds(words, item, depth + 1);
      return;
    }
    for (const [key, field] of Object.entries(value)) {
      if (typeof field === 'object') this.rememberIds([key], field, depth + 1);
      else if (key === 'id') for (const word of words) this.remember(singular(word), field);
      else if (/Id$/.test(key)) this.remember(singular(key.slice(0, -2)), field);
      else if (['wallet', 'code', 'epoch'].includes(key)) this.remember(key, field);
    }
  }
}

/** Returns a word without the plural `s`, so that `scores` and `score` are the same kind. */
export const singular = (word: string): string => word.replace(/(?<=\w\w)s$/, '');
