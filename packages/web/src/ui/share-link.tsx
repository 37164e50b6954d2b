import { useSignal } from '@preact/signals';
import { announce } from './announce.tsx';

/** A button that shares the address of a page: with the dialog of the device if it has one, otherwise by the clipboard. */
export function ShareLink({ path, title }: { path: string; title: string }) {
  const url = new URL(path, location.origin).href;
  const note = useSignal('');
  const share = async () => {
    try {
      if ('share' in navigator && matchMedia('(pointer: coarse)').matches) await navigator.share({ title, url });
      else {
        await navigator.clipboard.writeText(url);
        note.value = 'The link is copied.';
      }
    } catch (error) {
      // A visitor who closes the dialog of the device has changed their mind.
      if (error instanceof DOMException && error.name === 'AbortError') return;
      note.value = `Copy this link: ${url}`;
    }
    announce(note.value);
  };
  return (
    <span class="share">
      <button type="button" class="second small" onClick={share}>
        Share the link
      </button>
      {note.value !== '' && <span class="quiet">{note}</span>}
    </span>
  );
}
