import { signal } from '@preact/signals';
import type { Api } from '../client.ts';
import { on } from './stream.ts';

const MAX = 3;

type Notice = Pick<Api.Events['notification'], 'level' | 'text' | 'link'> & { readonly key: string };

const notices = signal<readonly Notice[]>([]);

/** Shows the messages that the arcade sends to everybody or to the visitor’s wallet. */
export function followNotices(): void {
  on('notification', ({ level, text, link, at }) => {
    const notice = { key: `${at} ${text}`, level, text, ...(link !== undefined && isWebLink(link) ? { link } : {}) };
    notices.value = [...notices.value.filter(({ key }) => key !== notice.key), notice].slice(-MAX);
  });
}

/** Returns whether a link leads to a page: an operator may also send other texts. */
const isWebLink = (link: string): boolean => /^https?:$/.test(URL.parse(link, location.href)?.protocol ?? '');

export function Notices() {
  return (
    <div role="status" class="notices">
      {notices.value.map(({ key, level, text, link }) => (
        <p key={key} class={level === 'warning' ? 'note warn row spread' : 'note row spread'}>
          <span>
            {text} {link !== undefined && <a href={link}>More</a>}
          </span>
          <button
            type="button"
            class="second small"
            onClick={() => {
              notices.value = notices.value.filter((one) => one.key !== key);
            }}
          >
            Close<span class="unseen"> the message</span>
          </button>
        </p>
      ))}
    </div>
  );
}
