import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../patience.ts';
import { createWallet, type JsonInit, type SignedIn, send, signIn } from '../wallet.ts';

/** Response to a score. */
export interface Receipt {
  scoreId: string;
  status: string;
  normalizedScore: number;
  pointsAwarded: number;
  personalBest: boolean;
  rank: { rank: number | null; score: number };
}

/** A client that follows the documented rules: on 503 or a broken connection, it repeats the same request at another process. */
export interface PatientPlayer {
  readonly wallet: string;
  /** Number of responses by status; 0 stands for a broken connection. */
  readonly statuses: Map<number, number>;
  /** Repeats a request until it gets a response other than 503. */
  request<T>(path: string, init?: JsonInit): Promise<{ status: number; body: T }>;
  /** Starts a play and submits its score, with retries until it is confirmed. */
  score(gameId: string, score: number): Promise<Receipt>;
}

/** Signs in a new wallet. Its requests go to the processes at `urls` in turn. */
export async function patientPlayer(urls: readonly string[]): Promise<PatientPlayer> {
  const signedIn: SignedIn = await signIn({ url: urls[0] ?? '' }, createWallet());
  const statuses = new Map<number, number>();
  let turn = 0;

  async function request<T>(path: string, init: JsonInit = {}): Promise<{ status: number; body: T }> {
    const deadline = Date.now() + PATIENCE * 60_000;
    for (;;) {
      const url = urls[turn++ % urls.length] ?? '';
      const answer = await attempt<T>(url, path, init);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status !== 0 && answer.status !== 503) return answer;
      if (Date.now() > deadline) throw new Error(`${path} got no response other than 503 for minutes`);
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
    request,
    async score(gameId, score) {
      const key = crypto.randomUUID();
      const play = await request<{ playId: string }>(`/game/${gameId}/play`, { method: 'POST', headers: { 'Idempotency-Key': key } });
      if (play.status !== 201) throw new Error(`play answered ${play.status} ${JSON.stringify(play.body)}`);
      const answer = await request<Receipt>('/arcade/score', { json: { gameId, score, playId: play.body.playId } });
      if (answer.status !== 200) throw new Error(`score answered ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
  };
}

/** Repeats a check until it passes. @throws the last error of the check when it does not pass in time */
export async function retryUntilPass(check: () => Promise<void> | void, within = 15_000): Promise<void> {
  const deadline = Date.now() + PATIENCE * within;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}
