import {
  ChartBarIcon,
  CubeIcon,
  FileTextIcon,
  KanbanIcon,
  ListChecksIcon,
  NoteIcon,
  PresentationIcon,
  ScribbleLoopIcon,
  TableIcon,
  type Icon,
} from "@phosphor-icons/react";

const icons: Record<string, Icon> = {
  board: KanbanIcon,
  document: FileTextIcon,
  notes: NoteIcon,
  poll: ChartBarIcon,
  sheet: TableIcon,
  slides: PresentationIcon,
  tracker: ListChecksIcon,
  whiteboard: ScribbleLoopIcon,
};

/** The icon of a gadget made from this blueprint. */
export function gadgetIcon(blueprint: string): Icon {
  return icons[blueprint.toLowerCase()] ?? CubeIcon;
}
