//! Functions of OpenCL C that are known and not supported, with the reason.

/// Why the built-in function of this name is not supported; `None` if it is, or if OpenCL C has no such function.
pub(crate) fn refusal(name: &str) -> Option<String> {
    let reason = match name {
        "enqueue_kernel"
        | "get_default_queue"
        | "create_user_event"
        | "enqueue_marker"
        | "ndrange_1D"
        | "ndrange_2D"
        | "ndrange_3D"
        | "get_kernel_work_group_size" => "device-side enqueue is not supported (Metal has none)",
        "read_pipe"
        | "write_pipe"
        | "commit_read_pipe"
        | "commit_write_pipe"
        | "reserve_read_pipe"
        | "reserve_write_pipe"
        | "get_pipe_num_packets"
        | "get_pipe_max_packets" => "pipes are not supported (Metal has none)",
        "get_image_num_samples" => "multi-sample images are not supported",
        "get_image_num_mip_levels" => "images with several levels of detail are not supported (cl_khr_mipmap_image)",
        _ => return by_prefix(name),
    };
    Some(format!("'{name}': {reason}"))
}

fn by_prefix(name: &str) -> Option<String> {
    let reason = if name.starts_with("sub_group_") || name.starts_with("intel_sub_group") {
        "this sub-group function is not supported (Metal has no equal)"
    } else if name.starts_with("work_group_") && name != "work_group_barrier" {
        "this work-group function is not supported"
    } else {
        return None;
    };
    Some(format!("'{name}': {reason}"))
}
