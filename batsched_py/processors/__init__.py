"""Sets of processors, in the forms that speed and Batsim's texts need."""
