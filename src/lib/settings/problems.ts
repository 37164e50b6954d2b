/**
 * Adds a sentence that names a wrong setting and says what it must be. The sentence contains no secret. The caller continues with a default, so that
 * all wrong settings are reported together.
 */
export type ReportProblem = (sentence: string) => void;

/** Returns the result of `parse`. When `parse` throws, reports the message of its error and returns `fallback`. */
export function parseOr<Value, Fallback>(report: ReportProblem, fallback: Fallback, parse: () => Value): Value | Fallback {
  try {
    return parse();
  } catch (error) {
    report(Error.isError(error) ? error.message : String(error));
    return fallback;
  }
}

/** Parses each text, and leaves out the texts for which `parse` throws. The messages of their errors are reported. */
export const parseEach = <Value>(report: ReportProblem, texts: readonly string[], parse: (text: string, index: number) => Value): Value[] =>
  texts.flatMap((text, i) => parseOr<Value[], never[]>(report, [], () => [parse(text, i)]));
