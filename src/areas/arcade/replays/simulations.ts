import { createHash } from 'node:crypto';
import { fail } from '#lib/errors.ts';
import { SimulationError } from '#lib/replay/binary.ts';
import { meterSimulation } from '#lib/replay/simulation.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { build } from '../build.ts';
import type { SimulationView } from './schemas.ts';

/** Limits of the plays of a simulation. They belong to the module, so that every replay of a play is judged by the same limits. */
export interface SimulationLimits {
  ticksPerSecond: number;
  maxTicks: number;
  instructionsPerTick: number;
}

export interface Simulation extends SimulationLimits {
  /** SHA-256 of the metered module, hex. */
  hash: string;
  sourceHash: string;
  /** Size of the metered module, bytes. */
  bytes: number;
}

const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest();

/**
 * Checks, meters and stores a module. A repeated upload changes nothing.
 * @throws 400 with the reason when the module is not allowed; 409 when it was uploaded before with other limits
 */
export async function storeSimulation(db: Queryable, source: Uint8Array<ArrayBuffer>, limits: SimulationLimits, by: string): Promise<Simulation> {
  const module = meterOrFail(source);
  const hash = sha256(module);
  const sourceHash = sha256(source);
  await run(
    db,
    build
      .insertInto('simulations')
      .values({
        hash,
        source_hash: sourceHash,
        module: Buffer.from(module),
        ticks_per_second: limits.ticksPerSecond,
        max_ticks: limits.maxTicks,
        instructions_per_tick: limits.instructionsPerTick,
        by,
      })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const stored = (await run(db, selectLimits(hash)))[0];
  if (!stored) throw new Error('the simulation is missing after its insert');
  const differs = (['ticksPerSecond', 'maxTicks', 'instructionsPerTick'] as const).find((name) => stored[name] !== limits[name]);
  if (differs) throw fail(409, `${differs} must be ${stored[differs]}, because this module was uploaded with this value before`);
  return { ...limits, hash: hash.toString('hex'), sourceHash: sourceHash.toString('hex'), bytes: module.length };
}

function meterOrFail(source: Uint8Array<ArrayBuffer>): Uint8Array {
  try {
    return meterSimulation(source);
  } catch (error) {
    throw error instanceof SimulationError ? fail(400, error.message) : error;
  }
}

const selectLimits = (hash: Buffer) =>
  build
    .selectFrom('simulations')
    .select(['ticks_per_second as ticksPerSecond', 'max_ticks as maxTicks', 'instructions_per_tick as instructionsPerTick'])
    .where('hash', '=', hash);

/**
 * Returns the public view of a simulation.
 * @throws Error when the simulation does not exist
 */
export async function describeSimulation(app: App, hash: string): Promise<SimulationView> {
  const found = await loadSimulation(app, hash);
  if (!found) throw new Error('the simulation of a game is missing');
  const { ticksPerSecond, maxTicks, instructionsPerTick } = found;
  return { hash, path: `/arcade/simulation/${hash}`, ticksPerSecond, maxTicks, instructionsPerTick };
}

/** A simulation with its metered module. */
export interface StoredSimulation extends SimulationLimits {
  module: Buffer;
}

/** Time for which a process keeps a simulation in memory, ms. A stored simulation never changes. */
const CACHED_MS = 600_000;
const cache = perApp((app) =>
  ttlCache<string, StoredSimulation | null>(CACHED_MS, async (hash) => {
    const row = (await run(app.db, selectLimits(Buffer.from(hash, 'hex')).select('module')))[0];
    return row ?? null;
  }),
);

/** Returns a simulation with its module; null when the simulation does not exist. */
export async function loadSimulation(app: App, hash: string): Promise<StoredSimulation | null> {
  const simulations = app.state(cache);
  const found = await simulations.get(hash);
  // The cache keeps no unknown hashes. Otherwise a new upload would be found late, and requests with random hashes would fill the cache.
  if (!found) simulations.delete(hash);
  return found;
}
