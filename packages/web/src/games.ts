import { computed } from '@preact/signals';
import { type Api, client, ok } from './client.ts';
import { createLoaded } from './live/load.ts';

const loaded = createLoaded<readonly Api.GameSummary[]>(async () => (await ok(client.get('/config/games'))).body);
/** One list for all renderings, so that a hook that depends on the games starts anew only when they change. */
const NONE: readonly Api.GameSummary[] = [];
let isStarted = false;

/** The games of the arcade, loaded once for the whole page; empty while they are loaded. */
export function useGames(): readonly Api.GameSummary[] {
  if (!isStarted) loaded.start();
  isStarted = true;
  return loaded.value.value ?? NONE;
}

const names = computed(() => new Map((loaded.value.value ?? []).map(({ id, name }) => [id, name])));

/** Returns the name of a game; its id while the games are loaded. */
export const gameName = (id: string): string => names.value.get(id) ?? id;

/** Whether the page can play the game: its scores are replays of a simulation that the page runs. */
export const isPlayable = ({ id }: Pick<Api.GameSummary, 'id'>): boolean => id === 'block-cascade';
