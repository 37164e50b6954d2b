import { setTimeout as sleep } from 'node:timers/promises';
import { createWallet, type JsonInit, type SignedIn, send, signIn } from '../wallet.ts';

/** What a score was answered with. */
export interface Receipt {
  scoreId: string;
  status: string;
  normalizedScore: number;
  pointsAwarded: number;
  personalBest: boolean;
  rank: { rank: number | null; score: number };
}

/** A client as games are told to be: it asks another process on 503 or a broken connection, and sends the same again. */
export interface PatientPlayer {
  readonly wallet: string;
  /** Every status that was ever answered, 0 for a broken connection. */
  readonly statuses: Map<number, number>;
  /** Sends until there is an answer other than 503. */
  ask<T>(path: string, init?: JsonInit): Promise<{ status: number; body: T }>;
  /** Begins a play and submits its score, until it is confirmed. */
  score(gameId: string, score: number): Promise<Receipt>;
}

/** A patient client of any of the processes at `urls`. */
export async function patientPlayer(urls: readonly string[]): Promise<PatientPlayer> {
  const signedIn: SignedIn = await signIn({ url: urls[0] ?? '' }, createWallet());
  const statuses = new Map<number, number>();
  let turn = 0;

  async function ask<T>(path: string, init: JsonInit = {}): Promise<{ status: number; body: T }> {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const url = urls[turn++ % urls.length] ?? '';
      const answer = await attempt<T>(url, path, init);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status !== 0 && answer.status !== 503) return answer;
      if (Date.now() > deadline) throw new Error(`${path} was not answered within a minute`);
      await sleep(100);
    }
  }

  async function attempt<T>(url: string, path: string, init: JsonInit): Promise<{ status: number; body: T }> {
    const headers = new Headers(init.headers);
    headers.set('Cookie', signedIn.cookie);
    try {
      const response = await send({ url }, path, { ...init, headers, signal: AbortSignal.timeout(25_000) });
      return { status: response.status, body: (await response.json()) as T };
    } catch {
      return { status: 0, body: undefined as T };
    }
  }

  return {
    wallet: signedIn.wallet,
    statuses,
    ask,
    async score(gameId, score) {
      const key = crypto.randomUUID();
      const play = await ask<{ playId: string }>(`/game/${gameId}/play`, { method: 'POST', headers: { 'Idempotency-Key': key } });
      if (play.status !== 201) throw new Error(`play answered ${play.status} ${JSON.stringify(play.body)}`);
      const answer = await ask<Receipt>('/arcade/score', { json: { gameId, score, playId: play.body.playId } });
      if (answer.status !== 200) throw new Error(`score answered ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
  };
}

/** Polls until a check passes; throws what it last threw when that takes too long. */
export async function eventually(check: () => Promise<void> | void, within = 15_000): Promise<void> {
  const deadline = Date.now() + within;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}
