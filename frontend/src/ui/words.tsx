/** A sentence in which `this` is something to type. */
export function Words({ text }: { text: string }) {
  return text.split("`").map((part, index) =>
    index % 2 === 1 ? (
      <code key={index} className="rounded-[4px] bg-hover px-1 font-mono text-[0.92em]">
        {part}
      </code>
    ) : (
      part
    ),
  );
}
