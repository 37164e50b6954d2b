import { type Queryable, statement } from '../../db/sql.ts';

/** How the arcade looks: free-form, read by front ends. */
export interface Theme {
  theme: Record<string, unknown>;
  /** 0 while nobody has set one. */
  version: number;
}

/** The name of the theme's row in `settings`. */
export const THEME = 'theme';

/** The theme that an arcade opens with. */
export const DEFAULT_THEME = {
  name: 'neon-night',
  palette: { background: '#0b0620', surface: '#1a0f3d', primary: '#ff2e97', secondary: '#00e5ff', text: '#f5f0ff' },
  font: 'Press Start 2P',
  scanlines: true,
  music: 'attract-mode',
};

const selectTheme = statement<Theme>('select_theme', 'select value as theme, version from settings where name = $1 order by version desc limit 1');

/** The theme as it stands. */
export async function readTheme(db: Queryable): Promise<Theme> {
  return (await db.query(selectTheme, [THEME]))[0] ?? { theme: DEFAULT_THEME, version: 0 };
}
