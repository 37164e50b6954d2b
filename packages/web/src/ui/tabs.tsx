/** A row of choices, one of them chosen. Each choice is a toggle button, so the tab key reaches all of them. */
export function Choices<T extends string>({
  label,
  choices,
  chosen,
  choose,
}: {
  label: string;
  choices: readonly (readonly [value: T, name: string])[];
  chosen: T;
  choose: (value: T) => void;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form; these buttons change what the page shows.
    <div class="choices" role="group" aria-label={label}>
      {choices.map(([value, name]) => (
        <button key={value} type="button" class="choice" aria-pressed={value === chosen} onClick={() => choose(value)}>
          {name}
        </button>
      ))}
    </div>
  );
}
