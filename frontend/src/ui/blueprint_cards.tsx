import { ArrowRightIcon } from "@phosphor-icons/react";
import type { Blueprint } from "../kernel/api.gen";
import { skeletonAfter, useLate } from "./late";
import { Bar, Spinner } from "./waiting";

/** Blueprints to start from. A single one is shown wide. */
export function BlueprintCards({
  blueprints,
  making,
  online,
  onMake,
}: {
  blueprints: Blueprint[];
  making?: string;
  online: boolean;
  onMake(blueprint: string): void;
}) {
  if (blueprints.length === 0) return <p className="text-13 text-muted">This Toolshed came without blueprints.</p>;
  const wide = blueprints.length === 1;
  return (
    <ul aria-label="Blueprints" className={wide ? "" : "grid grid-cols-[repeat(auto-fill,minmax(200px,1fr))] gap-4"}>
      {blueprints.map((blueprint) => (
        <li key={blueprint.name} className="flex">
          <Card blueprint={blueprint} wide={wide} making={making} disabled={!online || making !== undefined} onMake={onMake} />
        </li>
      ))}
    </ul>
  );
}

function Card({
  blueprint,
  wide,
  making,
  disabled,
  onMake,
}: {
  blueprint: Blueprint;
  wide: boolean;
  making?: string;
  disabled: boolean;
  onMake(blueprint: string): void;
}) {
  const busy = useLate(making === blueprint.name, skeletonAfter);
  const name = blueprint.title.toLowerCase();
  return (
    <button
      type="button"
      aria-disabled={disabled}
      data-blueprint={blueprint.name}
      onClick={() => !disabled && onMake(blueprint.name)}
      className={`group ease flex w-full overflow-hidden rounded-card border border-line bg-surface text-left hover:border-edge aria-disabled:opacity-70 ${wide ? "max-w-[640px]" : "flex-col"}`}
    >
      <img
        src={`data:image/svg+xml,${encodeURIComponent(blueprint.thumbnail)}`}
        alt=""
        draggable={false}
        className={`aspect-[16/10] object-cover ${wide ? "w-64 shrink-0 border-r" : "w-full border-b"} border-line`}
      />
      <span className={`flex min-w-0 grow flex-col ${wide ? "justify-center px-5 py-4" : "px-3.5 pt-2.5 pb-3"}`}>
        <span className={`flex items-center gap-2 font-bold ${wide ? "text-18" : "text-13"}`}>
          <span className="grow truncate">{blueprint.title}</span>
          {wide ? null : busy ? (
            <Spinner size={14} />
          ) : (
            <ArrowRightIcon size={14} aria-hidden className="ease shrink-0 text-accent opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100" />
          )}
        </span>
        <span className={`mt-0.5 text-muted ${wide ? "text-13 text-pretty" : "line-clamp-2 text-12"}`}>{busy && !wide ? `Making your ${name}…` : blueprint.description}</span>
        {wide && (
          <span className="mt-3 flex items-center gap-1.5 text-13 font-medium text-accent">
            {busy ? `Making your ${name}…` : `Make a ${name}`}
            {busy ? <Spinner size={14} /> : <ArrowRightIcon size={14} aria-hidden className="ease group-hover:translate-x-0.5" />}
          </span>
        )}
      </span>
    </button>
  );
}

export function CardSkeletons({ count }: { count: number }) {
  return (
    <div aria-hidden className="grid grid-cols-[repeat(auto-fill,minmax(200px,1fr))] gap-4">
      {Array.from({ length: count }, (_, i) => (
        <div key={i} className="overflow-hidden rounded-card border border-line bg-surface">
          <div className="breathes aspect-[16/10] bg-hover" />
          <div className="space-y-2 p-3.5">
            <Bar className="h-3.5 w-20" />
            <Bar className="h-3 w-full" />
          </div>
        </div>
      ))}
    </div>
  );
}
