import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { mergePatch } from '#lib/merge-patch.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { themeChanged } from './events.ts';
import { type Expected, isExpected, stale } from './versions.ts';

/** How the arcade looks: free-form, read by front ends. */
export interface Theme {
  theme: Record<string, unknown>;
  /** 0 while nobody has set one. */
  version: number;
}

/** The name of the theme's row in `settings`. */
export const THEME = 'theme';
/** How large a theme may be, bytes of JSON. */
export const MAX_THEME_BYTES = 64 * 1024;

/** The theme that an arcade opens with. */
export const DEFAULT_THEME = {
  name: 'neon-night',
  palette: { background: '#0b0620', surface: '#1a0f3d', primary: '#ff2e97', secondary: '#00e5ff', text: '#f5f0ff' },
  font: 'Press Start 2P',
  scanlines: true,
  music: 'attract-mode',
};

const selectTheme = statement<Theme>('select_theme', 'select value as theme, version from settings where name = $1 order by version desc limit 1');
const lockTheme = statement('lock_theme', `select pg_advisory_xact_lock(hashtext('settings/theme'))`);
const insertTheme = statement('insert_theme', 'insert into settings (name, version, value) values ($1, $2, $3)');

/** The theme as it stands. */
export async function readTheme(db: Queryable): Promise<Theme> {
  return (await db.query(selectTheme, [THEME]))[0] ?? { theme: DEFAULT_THEME, version: 0 };
}

/**
 * Merges into the theme, as a JSON merge patch; one after the other, so that none is lost. What changes nothing keeps the version.
 * @throws 412 when the theme is at no version that `expected` takes; 400 when it would be too large
 */
export async function mergeTheme(tx: Tx, patch: Record<string, unknown>, expected: Expected): Promise<Theme> {
  await tx.query(lockTheme);
  const present = await readTheme(tx);
  if (!isExpected(expected, present.version)) throw stale();
  const theme = mergePatch(present.theme, patch);
  if (canonicalize(theme) === canonicalize(present.theme)) return present;
  const text = JSON.stringify(theme);
  if (Buffer.byteLength(text) > MAX_THEME_BYTES) throw fail(400, `the theme must be at most ${MAX_THEME_BYTES} bytes of JSON once merged`);
  const version = present.version + 1;
  await tx.query(insertTheme, [THEME, version, text]);
  tx.emit(themeChanged, { theme, version });
  return { theme, version };
}
