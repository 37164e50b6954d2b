import { z } from 'zod';
import { Slug } from '../../lib/scalars.ts';
import { FreeObject, GameDefinition, GameId } from '../arcade/arcade.ts';

const MAX_DISPLAY_BYTES = 16 * 1024;

export const GameIdPath = z.object({ id: GameId });
/** `possess` and `release` stand where a cabinet's id would. */
export const CabinetIdPath = z.object({ id: Slug.refine((id) => id !== 'possess' && id !== 'release', 'must not be a reserved word') });

export const GameRequest = GameDefinition.safeExtend({
  secret: z
    .string()
    .min(16)
    .max(256)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not hold control characters')
    .nullable()
    .optional()
    .meta({ description: 'Signs scores from now on; null removes it, absent keeps it. It is never shown again.', example: null }),
}).meta({
  id: 'GameRequest',
  example: {
    name: 'Star Raiders',
    category: 'shooter',
    normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' },
    pointsPer10000: 500,
    caps: { dailyPoints: 5_000, scorePerSec: 400, minDurationMs: 15_000, maxDurationMs: 1_800_000 },
    verification: 'heartbeat',
  },
});

export const CabinetRequest = z
  .strictObject({
    gameId: z.string().meta({ example: 'star-raiders' }),
    display: FreeObject.refine(
      (display) => Buffer.byteLength(JSON.stringify(display)) <= MAX_DISPLAY_BYTES,
      `must be at most ${MAX_DISPLAY_BYTES} bytes of JSON`,
    ).meta({ description: 'Name, position, whatever a front end shows it by; free-form, up to 16 KB.' }),
  })
  .meta({ id: 'CabinetRequest', example: { gameId: 'star-raiders', display: { name: 'Star Raiders', position: { row: 1, column: 1 } } } });
