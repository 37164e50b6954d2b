/** Maximum characters of a round's title. */
export const MAX_TITLE = 120;

/** Fills in a title template: `{n}` becomes the round's number in the schedule, and `{date}` becomes the round's UTC day as YYYY-MM-DD. */
export function titleOf(template: string, n: number, day: string): string {
  const values: Record<string, string> = { '{n}': String(n), '{date}': day };
  return template.replace(/\{n\}|\{date\}/g, (placeholder) => values[placeholder] ?? placeholder);
}
