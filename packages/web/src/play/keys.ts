import type { Button, HeldButtons } from './buttons.ts';

/** Buttons by the place of the key on the keyboard. */
const KEYS: Readonly<Record<string, Button>> = {
  ...{ ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'rotate', ArrowDown: 'softDrop', Space: 'hardDrop' },
  ...{ KeyA: 'left', KeyD: 'right', KeyW: 'rotate', KeyS: 'softDrop' },
};
const CONTROLS = 'a, button, input, select, textarea, summary, dialog';

/**
 * Follows the keyboard until the signal aborts. Keys that a focused link, button or field uses keep their meaning there, so that the page stays usable
 * by keyboard during a play.
 * @param describe called when the player asks for the state of the board
 */
export function followKeys(held: HeldButtons, describe: () => void, signal: AbortSignal): void {
  const onKey = (event: KeyboardEvent) => {
    const isPress = event.type === 'keydown';
    const button = KEYS[event.code];
    // A release counts everywhere, so that a key never stays held.
    if (button && !isPress) held.release(button);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest(CONTROLS)) return;
    if (event.code === 'KeyH' && isPress && !event.repeat) return describe();
    if (!button) return;
    event.preventDefault();
    if (isPress && !event.repeat) held.press(button);
  };
  addEventListener('keydown', onKey, { signal });
  addEventListener('keyup', onKey, { signal });
  addEventListener('blur', () => held.releaseAll(), { signal });
}
