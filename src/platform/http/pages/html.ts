const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** HTML that is safe to send. Only the template tag `html` creates it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[] | null;

function textOf(value: Value): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/**
 * Template tag that creates HTML: html`<p>${text}</p>`. Escapes every value except HTML; null becomes nothing. Attribute values must be in quotation
 * marks. Precondition: the text of a `href` or `src` is the URL of a known scheme, because escaping does not stop `javascript:`.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.reduce((text, part, i) => text + textOf(values[i - 1] ?? null) + part));
