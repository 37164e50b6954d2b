import { sha256 } from '@noble/hashes/sha2.js';
import { z } from 'zod';
import { concatBytes, fromHex, toHex } from '../../../src/lib/draw/bytes.ts';
import { InputLogError, type InputSpan, readInputLog } from '../../../src/lib/replay/input-log.ts';
import { type ReplayLimits, type ReplayVerdict, runReplay } from '../../../src/lib/replay/run.ts';
import { meterSimulation, SIMULATION_LIMITS } from '../../../src/lib/replay/simulation.ts';
import { Lie, type OnStep, Report, type Step, Unknown, type Verdict } from './report.ts';
import { parseJson } from './sources.ts';

/** The document of `GET /arcade/score/{id}/replay`. Other fields may be present. */
const ReplayDocument = z.object({
  scoreId: z.string(),
  gameId: z.string(),
  wallet: z.string(),
  score: z.int().min(0),
  seed: z.string().regex(/^[0-9a-f]{32}$/),
  log: z.base64().max(100_000),
  simulation: z.object({
    hash: z.string().regex(/^[0-9a-f]{64}$/),
    maxTicks: z.int().min(1),
    ticksPerSecond: z.int().min(1),
    instructionsPerTick: z.int().min(1),
  }),
});

/** Largest accepted replay of a house, bytes. */
const MAX_DOCUMENT_BYTES = 1_000_000;

/** What `verifyScore` is asked to check. */
export interface ScoreOptions {
  /** URL of the house, for example https://arcade.example. */
  readonly house: string;
  readonly scoreId: string;
  /** Hash of the metered module, hex, if you know it. Otherwise the hash is taken on the house's word. */
  readonly simulation?: string | undefined;
  /** The module of the game as its author published it, before metering, if you have it. */
  readonly source?: Uint8Array<ArrayBuffer> | undefined;
  readonly fetch?: typeof globalThis.fetch;
  readonly onStep?: OnStep | undefined;
}

/** The outcome of a verification. `score` is the computed score; null when it cannot be computed. */
export interface ScoreVerification {
  readonly verdict: Verdict;
  readonly steps: readonly Step[];
  readonly onTheHousesWord: readonly string[];
  readonly score: number | null;
}

/**
 * Verifies a score from public data: downloads its replay and its simulation, and computes the score again (docs/replays.md). Runs in browsers and in Node.
 */
export async function verifyScore(options: ScoreOptions): Promise<ScoreVerification> {
  const report = new Report(options.onStep);
  let score: number | null = null;
  try {
    score = await computeScore(options, report);
  } catch (error) {
    report.ended(error);
  }
  return { verdict: report.verdict, steps: report.steps, onTheHousesWord: report.onTheHousesWord, score };
}

async function computeScore(options: ScoreOptions, report: Report): Promise<number> {
  const document = await readReplay(options);
  const { simulation, seed, log, score } = document;
  report.holds('replay', `the replay of the score ${score} of ${document.wallet} in ${document.gameId}`);
  const module = await readModule(options, simulation.hash, report);
  const verdict = run(module, fromHex(seed), readLog(log), simulation);
  if ('refusal' in verdict) throw new Lie('score', `the replay has no score: ${verdict.refusal}`);
  const { result } = verdict;
  if (result.score !== score) throw new Lie('score', `the replay has the score ${result.score}, but the house says ${score}`);
  report.holds(
    'score',
    `the simulation gives the score ${score} after ${result.ticks} ticks, ${(result.ticks / simulation.ticksPerSecond).toFixed(1)} s of play`,
  );
  report.word('that the seed was random and unknown before the play');
  report.word('that the play lasted as long as its ticks');
  report.word(`that the wallet ${document.wallet} played`);
  return result.score;
}

async function readReplay({ house, scoreId, fetch = globalThis.fetch }: ScoreOptions) {
  const response = await get(fetch, new URL(`arcade/score/${encodeURIComponent(scoreId)}/replay`, withSlash(house)));
  if (response.status === 404) throw new Unknown('replay', 'the house has no replay of this score');
  const bytes = await readBytes(response, MAX_DOCUMENT_BYTES);
  const parsed = ReplayDocument.safeParse(bytes === null ? null : parseJson(new TextDecoder().decode(bytes)));
  if (!parsed.success) throw new Lie('replay', 'the house’s document is not a replay');
  if (parsed.data.scoreId !== scoreId) throw new Lie('replay', 'the house shows the replay of another score');
  return parsed.data;
}

async function readModule(
  { house, simulation, source, fetch = globalThis.fetch }: ScoreOptions,
  hash: string,
  report: Report,
): Promise<WebAssembly.Module> {
  if (simulation !== undefined && simulation !== hash) throw new Lie('simulation', `the house names the simulation ${hash}, not ${simulation}`);
  const response = await get(fetch, new URL(`arcade/simulation/${hash}`, withSlash(house)));
  if (response.status !== 200) throw new Lie('simulation', `the house does not show the simulation; it answers ${response.status}`);
  const bytes = await readBytes(response, SIMULATION_LIMITS.meteredBytes);
  if (bytes === null || toHex(sha256(bytes)) !== hash) {
    throw new Lie('simulation', 'the bytes of the simulation do not have its hash');
  }
  if (source !== undefined && toHex(sha256(meterSimulation(source))) !== hash) {
    throw new Lie('simulation', 'the simulation is not the metered form of the given module');
  }
  report.holds('simulation', `the module ${hash} has ${bytes.length} bytes`);
  if (simulation === undefined && source === undefined) report.word(`that the game is played with the simulation ${hash}`);
  try {
    return new WebAssembly.Module(bytes);
  } catch {
    throw new Lie('simulation', 'the bytes of the simulation are not a WebAssembly module');
  }
}

function run(module: WebAssembly.Module, seed: Uint8Array, log: readonly InputSpan[], limits: ReplayLimits): ReplayVerdict {
  try {
    return runReplay(module, seed, log, limits);
  } catch (error) {
    throw error instanceof RangeError ? new Unknown('score', `this machine cannot run the simulation: ${error.message}`) : error;
  }
}

function readLog(log: string): InputSpan[] {
  try {
    return readInputLog(Uint8Array.from(atob(log), (character) => character.charCodeAt(0)));
  } catch (error) {
    throw error instanceof InputLogError ? new Lie('replay', error.message) : error;
  }
}

async function get(fetch: typeof globalThis.fetch, url: URL): Promise<Response> {
  const response = await fetch(url, { redirect: 'error' }).catch(() => null);
  if (!response) throw new Unknown('house', `${url.href} does not answer`);
  if (response.status >= 500 || response.status === 429) throw new Unknown('house', `${url.pathname} answered ${response.status}`);
  return response;
}

const withSlash = (house: string): string => (house.endsWith('/') ? house : `${house}/`);

/** Reads the body of a response; null when it has more than `maxBytes` bytes. */
async function readBytes(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return new Uint8Array(concatBytes(...chunks));
}
