import { now } from '../live/clock.ts';

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Shows a time in the visitor’s own time zone. */
export const timeOf = (instant: string) => <time dateTime={instant}>{FORMAT.format(new Date(instant))}</time>;

/** Returns a duration as `1:02:03` or `2:03`. */
export function clockText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Shows the time that is left, each second. */
export function Countdown({ until }: { until: string }) {
  const left = Date.parse(until) - now.value;
  return (
    <span class="countdown" role="timer">
      {clockText(left)}
    </span>
  );
}

/** Shows how long ago something was. */
export function Ago({ at }: { at: string }) {
  const seconds = Math.max(0, Math.round((now.value - Date.parse(at)) / 1_000));
  const text =
    seconds < 10
      ? 'just now'
      : seconds < 60
        ? `${seconds} s ago`
        : seconds < 3_600
          ? `${Math.floor(seconds / 60)} min ago`
          : seconds < 86_400
            ? `${Math.floor(seconds / 3_600)} h ago`
            : `${Math.floor(seconds / 86_400)} d ago`;
  return (
    <time dateTime={at} class="ago">
      {text}
    </time>
  );
}
