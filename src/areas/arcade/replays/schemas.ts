import { z } from 'zod';
import { Count, Id, Slug, Wallet } from '#lib/scalars.ts';

/** SHA-256 of a module, hex. */
export const SimulationHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
  .meta({
    example: '7c8e2f5f0d7b8f0c5d0e4d1c6f0f2b1a9e8d7c6b5a49382716051423324150ff',
  });

/** Maximum instructions of one replay. It bounds the time that a replay takes on any machine to about 20 s. */
const MAX_INSTRUCTIONS = 20_000_000_000;

/** Limits of a simulation's plays, as query parameters of its upload. */
export const SimulationQuery = z
  .strictObject({
    ticksPerSecond: z.coerce.number().int().min(1).max(1_000).meta({ description: 'Ticks of the game per second.', example: 60 }),
    maxTicks: z.coerce.number().int().min(1).max(10_000_000).meta({ description: 'Maximum ticks of a play.', example: 10_800 }),
    instructionsPerTick: z.coerce.number().int().min(1).max(1_000_000).default(20_000).meta({
      description: 'WebAssembly instructions that a play may execute on average per tick.',
      example: 20_000,
    }),
  })
  .refine((limits) => limits.maxTicks * limits.instructionsPerTick <= MAX_INSTRUCTIONS, {
    path: ['instructionsPerTick'],
    message: `must be at most ${MAX_INSTRUCTIONS} / maxTicks`,
  });

const limits = {
  ticksPerSecond: Count.meta({ example: 60 }),
  maxTicks: Count.meta({ example: 10_800 }),
  instructionsPerTick: Count.meta({ example: 20_000 }),
};

/** A simulation as players see it. */
export const SimulationView = z
  .strictObject({
    hash: SimulationHash,
    path: z.string().meta({
      description: 'Path of the module at this service.',
      example: '/arcade/simulation/7c8e2f5f0d7b8f0c5d0e4d1c6f0f2b1a9e8d7c6b5a49382716051423324150ff',
    }),
    ...limits,
  })
  .meta({ id: 'Simulation' });
export type SimulationView = z.infer<typeof SimulationView>;

/** The response to an upload. */
export const SimulationReceipt = SimulationView.extend({
  sourceHash: SimulationHash.meta({ description: 'SHA-256 of the uploaded module.' }),
  bytes: Count.meta({ description: 'Size of the module with metering, bytes.', example: 3_102 }),
}).meta({ id: 'SimulationReceipt' });

/** All that is needed to compute a score again. */
export const ReplayView = z
  .strictObject({
    scoreId: Id,
    playId: Id,
    wallet: Wallet,
    gameId: Slug,
    score: Count.meta({ description: 'The raw score that the arcade recorded.', example: 12_340 }),
    simulation: SimulationView,
    seed: z.string().meta({ description: '16 bytes, hex.', example: '000102030405060708090a0b0c0d0e0f' }),
    log: z.base64().meta({ description: 'The input log, base64.', example: 'AQMAAQU=' }),
  })
  .meta({ id: 'Replay' });
export type ReplayView = z.infer<typeof ReplayView>;
