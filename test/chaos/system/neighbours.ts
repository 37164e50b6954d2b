import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_ORIGIN } from '#dev/stack/system.ts';
import { hostileClasses, startHostile } from '#tools/bench/support/hostile.ts';
import { request } from '#tools/bench/support/load.ts';
import type { Client } from './client.ts';
import type { Refusal } from './confirmed.ts';
import type { Outages } from './outages.ts';
import { GAME, OPEN_GAME } from './players.ts';
import type { Random } from './random.ts';

const CONNECTIONS = 100;
/** Minimum and maximum duration of an attack, and of the pause before it, ms. */
const ATTACK_MS = [10_000, 20_000] as const;
const PAUSE_MS = [15_000, 30_000] as const;
/**
 * Time before a refusal during which all API processes must have been ready, ms. While PostgreSQL or Redis is away, a few own requests of a player
 * wait in the service, so the service may refuse further ones.
 */
const READY_MS = 20_000;
/** Time for which the requests of an attack may still be in flight after its end, ms. */
const REST_MS = 5_000;

interface Attack {
  readonly name: string;
  readonly from: number;
  to: number;
}

/** One hostile caller, who floods one class of routes at a time over many connections to all API processes. */
export class Neighbours {
  readonly violations: string[] = [];
  /** The ids of the accepted scores of the hostile caller. */
  readonly scoreIds: string[] = [];
  readonly #client: Client;
  readonly #random: Random;
  readonly #note: (line: string) => void;
  readonly #attacks: Attack[] = [];

  /** @param note adds a line to the log of the run */
  constructor(client: Client, random: Random, note: (line: string) => void) {
    this.#client = client;
    this.#random = random;
    this.#note = note;
  }

  /** Attacks until `isOver` returns true. Every class is attacked once before any is repeated. */
  async run(isOver: () => boolean): Promise<void> {
    const { wallet, cookie, urls } = this.#client;
    const ports = urls.map((url) => Number(new URL(url).port));
    const { host } = new URL(urls[0] ?? '');
    const anonymousStream = request('GET', '/events', host, { Origin: SYSTEM_ORIGIN });
    const classes = { ...hostileClasses({ wallet, cookie, host, gameId: GAME, openGameId: OPEN_GAME }), 'anonymous streams': [anonymousStream] };
    const wait = async (ms: number) => {
      for (const end = performance.now() + ms; performance.now() < end && !isOver(); ) await sleep(100);
    };
    while (!isOver()) {
      for (const [name, requests] of this.#random.shuffled(Object.entries(classes))) {
        await wait(this.#random.between(...PAUSE_MS));
        if (isOver()) return;
        const ms = this.#random.between(...ATTACK_MS);
        this.#note(`a hostile caller with ${CONNECTIONS} connections for ${ms} ms: ${name}`);
        const attack: Attack = { name, from: performance.now(), to: Number.POSITIVE_INFINITY };
        this.#attacks.push(attack);
        const stop = startHostile(ports, CONNECTIONS, requests);
        await wait(ms);
        const { counts, refusals, scoreIds, wrong } = await stop();
        attack.to = performance.now();
        this.scoreIds.push(...scoreIds);
        this.violations.push(...wrong.map((what) => `hostile caller: ${what}`));
        this.#note(`the hostile caller got ${JSON.stringify(counts)}, refusals ${JSON.stringify(refusals)}`);
      }
    }
  }

  /**
   * Returns a sentence per request of a player that the service refused because of too many requests, although the hostile caller alone sent too many.
   * A request without a session shares its bounds with all other requests without a session, so it is not counted while the attack has none.
   */
  refusalFailures(refusals: readonly Refusal[], outages: Outages): string[] {
    const attackAt = (at: number) => this.#attacks.find(({ from, to }) => from <= at && at <= to + REST_MS);
    const counted = refusals.filter(({ at }) => !outages.hasAny(at - READY_MS, at));
    this.#note(`players got 429 ${refusals.length} times, ${counted.length} times while all API processes were ready`);
    return counted.flatMap(({ at, path, policy, isSignedIn }) => {
      const attack = attackAt(at);
      if (!attack) return [];
      // A wallet counts its own clips only.
      if (policy.startsWith('"clips-per-day"')) return [];
      const isAnonymous = attack.name === 'sign-ins' || attack.name === 'anonymous streams';
      return isAnonymous && !isSignedIn ? [] : [`${path} answered 429 (${policy}) to a player while the hostile caller sent ${attack.name}`];
    });
  }
}
