import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { mergePatch } from '#lib/merge-patch.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './build.ts';
import { themeChanged } from './events.ts';
import { type ExpectedVersions, matchesExpected, staleVersion } from './versions.ts';

/** The look of the arcade: free-form JSON for front ends. */
export interface Theme {
  theme: Record<string, unknown>;
  /** Number of the last change; 0 before the first change. */
  version: number;
}

/** Name of the theme's rows in the table `settings`. */
export const THEME_SETTING = 'theme';
/** Maximum size of a theme, bytes of JSON. */
export const MAX_THEME_BYTES = 64 * 1024;

/** The theme before the first change. */
export const DEFAULT_THEME = {
  name: 'neon-night',
  palette: { background: '#0b0620', surface: '#1a0f3d', primary: '#ff2e97', secondary: '#00e5ff', text: '#f5f0ff' },
  font: 'Press Start 2P',
  scanlines: true,
  music: 'attract-mode',
};

const selectTheme = statement<Theme>('select_theme', 'select value as theme, version from settings where name = $1 order by version desc limit 1');
const lockTheme = statement('lock_theme', `select pg_advisory_xact_lock(hashtext('settings/theme'))`);

/** Reads the current theme. */
export async function readTheme(db: Queryable): Promise<Theme> {
  return (await db.query(selectTheme, [THEME_SETTING]))[0] ?? { theme: DEFAULT_THEME, version: 0 };
}

/**
 * Applies a JSON merge patch (RFC 7386) to the theme. A lock serializes changes, so that no change is lost. If the patch changes nothing, the theme
 * keeps its version.
 * @throws 412 when `expected` does not match the theme's version
 * @throws 400 when the merged theme is too large
 */
export async function mergeTheme(tx: Tx, patch: Record<string, unknown>, expected: ExpectedVersions): Promise<Theme> {
  await tx.query(lockTheme);
  const current = await readTheme(tx);
  if (!matchesExpected(expected, current.version)) throw staleVersion();
  const theme = mergePatch(current.theme, patch);
  if (canonicalize(theme) === canonicalize(current.theme)) return current;
  const text = JSON.stringify(theme);
  if (Buffer.byteLength(text) > MAX_THEME_BYTES) throw fail(400, `the theme must be at most ${MAX_THEME_BYTES} bytes of JSON once merged`);
  const version = current.version + 1;
  await run(tx, build.insertInto('settings').values({ name: THEME_SETTING, version, value: text }));
  tx.emit(themeChanged, { theme, version });
  return { theme, version };
}
